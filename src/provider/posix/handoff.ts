/** Hands items from a producer to one consumer, one at a time: the producer waits until each is taken. */

export class Handoff<T> implements AsyncIterable<T> {
  #item: { readonly value: T; taken(): void } | undefined;
  #ended = false;
  #error: Error | undefined;
  #wake: () => void = () => undefined;

  /** Resolves when the consumer comes back for the next item. */
  give(value: T): Promise<void> {
    return new Promise((taken) => {
      this.#item = { value, taken };
      this.#wake();
    });
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** The consumer gets the error after what it already has. */
  fail(error: unknown): void {
    this.#error = error instanceof Error ? error : new Error(String(error));
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const item = this.#item;
      if (item !== undefined) {
        this.#item = undefined;
        try {
          yield item.value;
        } finally {
          item.taken();
        }
      } else if (this.#ended) {
        if (this.#error !== undefined) throw this.#error;
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}
