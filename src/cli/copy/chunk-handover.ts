/** Joins a callback that gets chunks to a loop that takes them: one at a time, so that the slower side sets the pace. */

export class ChunkHandover implements AsyncIterable<Uint8Array> {
  #offered: Uint8Array | undefined;
  /** Lets the giver of the present chunk go on, also when its taker stopped in the middle of it. */
  #release: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #ended = false;
  #error: Error | undefined;
  #cancelled = false;

  /** Resolves when the chunk was taken, or nobody wants it any more. */
  give(chunk: Uint8Array): Promise<void> {
    if (this.#cancelled) return Promise.resolve();
    return new Promise((release) => {
      this.#offered = chunk;
      this.#release = release;
      this.#wake?.();
    });
  }

  /** No more will come; with an error, the taker gets it. */
  end(error?: Error): void {
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  /** Lets the giver go on without a taker. */
  cancel(): void {
    this.#cancelled = true;
    this.#offered = undefined;
    this.#release?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const offered = this.#offered;
      if (offered !== undefined) {
        this.#offered = undefined;
        yield offered;
        this.#release?.();
      } else if (this.#ended) {
        if (this.#error !== undefined) throw this.#error;
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}
