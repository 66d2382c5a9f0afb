/**
 * Reads one stream of a command's log from a cursor on. The segment it is in stays open, so that a chunk costs one call and
 * what is removed meanwhile can still be read.
 */
import { closeSync, open, read } from 'node:fs';
import { join } from 'node:path';
import type { OutputStream } from '../../core/commands.ts';
import { segmentStarts } from './command-log.ts';

export interface LogPart {
  /** The receiver's own. Empty: nothing there yet. */
  readonly data: Uint8Array;
  /** Bytes before `data` that are no longer kept. */
  readonly lostBytes: number;
}

/** As much as a pipe holds. */
const CHUNK_BYTES = 64 * 1024;

const NOTHING: LogPart = { data: new Uint8Array(), lostBytes: 0 };

export class LogReader {
  readonly #dir: string;
  readonly #stream: OutputStream;
  readonly #buffer: Buffer;
  #cursor: number;
  #segment: { readonly start: number; readonly fd: number } | undefined;

  constructor(dir: string, stream: OutputStream, cursor: number) {
    this.#dir = dir;
    this.#stream = stream;
    this.#cursor = cursor;
    this.#buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  }

  /** Bytes since the command began, up to where it has been read. */
  get cursor(): number {
    return this.#cursor;
  }

  async next(maxBytes = Infinity): Promise<LogPart> {
    let lostBytes = 0;
    for (;;) {
      const data = await this.#read(maxBytes);
      if (data.length > 0) return { data, lostBytes };
      const start = await this.#followingStart();
      if (start === undefined) return lostBytes > 0 ? { ...NOTHING, lostBytes } : NOTHING;
      // It was closed before the following one was begun; until then it may have grown.
      const rest = await this.#read(maxBytes);
      if (rest.length > 0) return { data: rest, lostBytes };
      lostBytes += await this.#moveTo(start);
    }
  }

  /** Not while `next` is under way. */
  close(): void {
    if (this.#segment !== undefined) closeSync(this.#segment.fd);
    this.#segment = undefined;
  }

  /** By the plain calls: a promise of a file costs a tenth of a chunk in garbage. */
  #read(maxBytes: number): Promise<Uint8Array> {
    const [segment, buffer] = [this.#segment, this.#buffer];
    if (segment === undefined) return Promise.resolve(NOTHING.data);
    const bytes = Math.min(buffer.length, maxBytes);
    return new Promise((resolve, reject) => {
      read(segment.fd, buffer, 0, bytes, this.#cursor - segment.start, (cause, bytesRead) => {
        if (cause !== null) return reject(cause);
        this.#cursor += bytesRead;
        resolve(Buffer.from(buffer.subarray(0, bytesRead)));
      });
    });
  }

  /** Of the segment in which the cursor is, or else of the oldest behind it; undefined when it is read already. */
  async #followingStart(): Promise<number | undefined> {
    const starts = await segmentStarts(this.#dir, this.#stream);
    if (this.#segment === undefined) return starts.findLast((at) => at <= this.#cursor) ?? starts[0];
    const { start } = this.#segment;
    return starts.find((at) => at > start);
  }

  /** How many bytes were skipped. The segment may be gone when it is opened: then another one is the oldest. */
  async #moveTo(start: number): Promise<number> {
    this.close();
    const fd = await openToRead(join(this.#dir, `${this.#stream}.${start}`));
    if (fd === undefined) return 0;
    this.#segment = { start, fd };
    const skipped = Math.max(0, start - this.#cursor);
    this.#cursor += skipped;
    return skipped;
  }
}

/** undefined when it is gone. */
function openToRead(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    open(path, 'r', (cause, fd) => {
      if (cause === null) resolve(fd);
      else if (cause.code === 'ENOENT') resolve(undefined);
      else reject(cause);
    });
  });
}
