/**
 * A background command's output on the host's disk: files named after the absolute offset of their first byte
 * (`stdout.0`, `stdout.1048576`, …), of which the oldest are removed. A cursor is bytes since the command began.
 */
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { OutputStream } from '../../core/commands.ts';

/** A segment is closed when it has reached this size. */
export const SEGMENT_BYTES: number = 1024 * 1024;
export const KEPT_SEGMENTS = 8;

export interface LogRead {
  readonly data: Uint8Array;
  readonly next: number;
  readonly lostBytes: number;
}

/** What is kept from `cursor` on, at most `maxBytes`. Empty data: nothing there yet. */
export async function readLog(dir: string, stream: OutputStream, cursor: number, maxBytes: number): Promise<LogRead> {
  for (;;) {
    const starts = await segmentStarts(dir, stream);
    const from = Math.max(cursor, starts[0] ?? 0);
    const start = starts.findLast((at) => at <= from);
    if (start === undefined) return { data: new Uint8Array(), next: cursor, lostBytes: 0 };
    const data = await readSegment(join(dir, `${stream}.${start}`), from - start, maxBytes);
    // The writer removed it between the listing and the opening: what is oldest now is another segment.
    if (data === undefined) continue;
    const following = starts.find((at) => at > from);
    // Read up to the end of a closed segment: the rest is in the following one.
    if (data.length === 0 && following !== undefined && following >= from) {
      cursor = Math.max(cursor, from);
      if (following === from) continue;
      const retry = await readSegment(join(dir, `${stream}.${following}`), 0, maxBytes);
      if (retry === undefined) continue;
      return { data: retry, next: following + retry.length, lostBytes: following - cursor };
    }
    return { data, next: from + data.length, lostBytes: from - cursor };
  }
}

/** Writes segments as the host's pump does, for output that passes through this process. */
export class LogWriter {
  readonly #dir: string;
  readonly #stream: OutputStream;
  #starts: number[] = [0];
  #bytes = 0;
  #tail: Promise<void> = Promise.resolve();

  constructor(dir: string, stream: OutputStream) {
    this.#dir = dir;
    this.#stream = stream;
  }

  /** Writes in the order of the calls. */
  append(chunk: Uint8Array): Promise<void> {
    this.#tail = this.#tail.then(() => this.#write(chunk));
    return this.#tail;
  }

  async #write(chunk: Uint8Array): Promise<void> {
    const start = this.#starts.at(-1) ?? 0;
    const file = await open(this.#path(start), 'a', 0o600);
    try {
      await file.appendFile(chunk);
    } finally {
      await file.close();
    }
    this.#bytes += chunk.length;
    if (this.#bytes - start < SEGMENT_BYTES) return;
    this.#starts.push(this.#bytes);
    while (this.#starts.length > KEPT_SEGMENTS) await rm(this.#path(this.#starts.shift() ?? 0), { force: true });
  }

  #path(start: number): string {
    return join(this.#dir, `${this.#stream}.${start}`);
  }
}

async function segmentStarts(dir: string, stream: OutputStream): Promise<number[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names
    .map((name) => new RegExp(`^${stream}\\.(\\d+)$`).exec(name)?.[1])
    .filter((start) => start !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

/** undefined when the segment is gone. */
async function readSegment(path: string, offset: number, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(maxBytes, size - offset)));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
