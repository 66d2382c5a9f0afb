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

/** Oldest first; none when there is no log. */
export async function segmentStarts(dir: string, stream: OutputStream): Promise<number[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const prefix = `${stream}.`;
  return names
    .filter((name) => name.startsWith(prefix))
    .map((name) => Number(name.slice(prefix.length)))
    .filter((start) => Number.isSafeInteger(start))
    .sort((a, b) => a - b);
}
