/** The input of a program as it comes in: by offset, so that a piece that is sent twice arrives once. */
import { GRPC, GrpcRefusal } from './grpc-server.fixture.ts';

/** Who writes more than the program has taken waits. */
const MAX_PIECES = 8;

export class OpenInput implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = [];
  #written = 0;
  #isOver = false;
  #hasExited = false;
  #waiting: (() => void)[] = [];

  async write(offset: number, data: Uint8Array, isLast: boolean): Promise<void> {
    const fresh = data.subarray(Math.max(0, this.#written - offset));
    this.#written += fresh.length;
    if (fresh.length > 0) this.#pieces.push(Uint8Array.from(fresh));
    if (isLast) this.#isOver = true;
    this.#tell();
    while (this.#pieces.length > MAX_PIECES && !this.#hasExited) await this.#change();
    if (this.#hasExited) throw new GrpcRefusal(GRPC.FAILED_PRECONDITION, 'The process has exited');
  }

  /** Nobody reads it any more. */
  close(): void {
    this.#hasExited = true;
    this.#isOver = true;
    this.#tell();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece === undefined && this.#isOver) return;
      if (piece === undefined) await this.#change();
      else yield piece;
      this.#tell();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #tell(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
