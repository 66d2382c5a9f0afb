/** Input on its way to a process: pushed by requests, pulled at the process's pace. */
import { E2bRefusal } from './e2b-refusal.ts';

interface Parcel {
  readonly data: Uint8Array;
  taken(): void;
}

export class InputQueue implements AsyncIterable<Uint8Array> {
  readonly #parcels: Parcel[] = [];
  #isOver = false;
  #wake: () => void = () => undefined;

  /** Resolves when the reader has taken it or is gone. */
  push(data: Uint8Array): Promise<void> {
    if (this.#isOver) return Promise.reject(E2bRefusal.of('not_found', 'The standard input is closed.'));
    return new Promise((resolve) => {
      this.#parcels.push({ data, taken: resolve });
      this.#wake();
    });
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const parcel = this.#parcels.shift();
        if (parcel !== undefined) {
          parcel.taken();
          yield parcel.data;
        } else if (this.#isOver) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#isOver = true;
      for (const parcel of this.#parcels.splice(0)) parcel.taken();
    }
  }
}
