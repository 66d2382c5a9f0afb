/** Lets so many pass at once; the others wait in the order they came. */

export class Turnstile {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // A place is handed on, so that nobody who has just come takes it from who waited.
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
