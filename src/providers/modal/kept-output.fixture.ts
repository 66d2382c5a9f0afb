/** One stream of a program, kept so that a reader whose connection broke goes on where it was. */
import { GRPC, GrpcRefusal } from './grpc-server.fixture.ts';

/** So much is kept behind the reader, and so much a program may be ahead of it. */
const WINDOW_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

export class KeptOutput {
  #chunks: Uint8Array[] = [];
  /** Where the first kept chunk begins, where the last ends, and how far it has been read. */
  #start = 0;
  #end = 0;
  #read = 0;
  #isOver = false;
  #error: GrpcRefusal | undefined;
  #change: () => void = () => undefined;
  #changed: Promise<void> = new Promise((resolve) => (this.#change = resolve));

  /** Waits while the reader is too far behind. */
  async push(chunk: Uint8Array): Promise<void> {
    this.#chunks.push(Uint8Array.from(chunk));
    this.#end += chunk.length;
    this.#tell();
    while (this.#end - this.#read > WINDOW_BYTES && !this.#isOver) await this.#changed;
  }

  /** With the reason when there would have been more. */
  end(error?: GrpcRefusal): void {
    this.#error ??= this.#isOver ? undefined : error;
    this.#isOver = true;
    this.#tell();
  }

  async *read(offset: number, signal: AbortSignal): AsyncGenerator<{ readonly data: Uint8Array }> {
    if (offset < this.#start) throw new GrpcRefusal(GRPC.OUT_OF_RANGE, `Output before ${this.#start} is gone`);
    let at = offset;
    const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      for (; at < this.#end; at = this.#read) {
        const data = this.#from(at);
        yield { data };
        if (signal.aborted) return;
        this.#read = at + data.length;
        this.#drop();
        this.#tell();
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#isOver) return;
      await Promise.race([this.#changed, left]);
    }
  }

  #from(at: number): Uint8Array {
    let begin = this.#start;
    for (const chunk of this.#chunks) {
      if (at < begin + chunk.length) return chunk.subarray(at - begin, at - begin + CHUNK_BYTES);
      begin += chunk.length;
    }
    return new Uint8Array();
  }

  #drop(): void {
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      if (this.#start + first.length > this.#read - WINDOW_BYTES) return;
      this.#start += first.length;
      this.#chunks.shift();
    }
  }

  #tell(): void {
    const change = this.#change;
    this.#changed = new Promise((resolve) => (this.#change = resolve));
    change();
  }
}
