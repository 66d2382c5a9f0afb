/** Choices that are the same for the same seed. */

export class Chance {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not begin alike.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0;
    for (let turn = 0; turn < 3; turn++) this.#next();
  }

  /** A stream of its own: what is drawn from it changes nothing for others. */
  fork(): Chance {
    return new Chance(Math.floor(this.#next() * 0xffffffff));
  }

  happens(probability: number): boolean {
    return this.#next() < probability;
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.#next() * (max - min + 1));
  }

  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new Error('nothing to pick from');
    return choices[this.between(0, choices.length - 1)] as T;
  }

  /** One of the names, each as likely as its weight says. */
  weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let rest = this.#next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      rest -= weight;
      if (rest < 0) return name;
    }
    return this.pick(entries.map(([name]) => name));
  }

  /** Some of the weights, each as likely left out as kept; never none. */
  someOf<T extends string>(weights: Readonly<Record<T, number>>): Readonly<Partial<Record<T, number>>> {
    const entries = Object.entries(weights) as [T, number][];
    const kept = entries.filter(() => this.happens(0.6));
    return Object.fromEntries(kept.length === 0 ? entries : kept) as Partial<Record<T, number>>;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.between(0, 255));
  }

  /** mulberry32 */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }
}
