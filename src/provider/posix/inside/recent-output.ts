/** The newest part of a stream in bounded memory, read from byte cursors by as many as like. */
import { abortedError } from '../../../core/errors.ts';

const KEPT_BYTES = 4 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;

export class RecentOutput {
  readonly #chunks: Uint8Array[] = [];
  /** The cursor of the oldest byte that is kept. */
  #start = 0;
  #end = 0;
  #isOver = false;
  #wake: () => void = () => undefined;
  #next: Promise<void> = Promise.resolve();

  constructor() {
    this.#arm();
  }

  append(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#end += chunk.length;
    while (this.#end - this.#start > KEPT_BYTES) this.#start += this.#chunks.shift()?.length ?? 0;
    this.#notify();
  }

  end(): void {
    this.#isOver = true;
    this.#notify();
  }

  read(cursor: number, maxBytes = READ_BYTES): { data: Uint8Array; next: number; lostBytes: number; isLast: boolean } {
    const from = Math.max(cursor, this.#start);
    const until = Math.min(this.#end, from + maxBytes);
    const parts: Uint8Array[] = [];
    let at = this.#start;
    for (const chunk of this.#chunks) {
      const begin = Math.max(0, from - at);
      const end = Math.min(chunk.length, until - at);
      if (end > begin) parts.push(chunk.subarray(begin, end));
      at += chunk.length;
    }
    const next = Math.max(from, until);
    return { data: Buffer.concat(parts), next, lostBytes: from - cursor, isLast: next >= this.#end };
  }

  /** Resolves when there is more or the end has come. */
  async more(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isOver) return;
    if (signal === undefined) return this.#next;
    let onAbort = (): void => undefined;
    const aborted = new Promise<never>((_, reject) => (onAbort = () => reject(abortedError(signal))));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#next, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
  }

  #notify(): void {
    this.#wake();
    this.#arm();
  }

  #arm(): void {
    this.#next = new Promise((resolve) => (this.#wake = resolve));
  }
}
