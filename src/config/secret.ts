/** A value that cannot be printed by accident: every form of it but `reveal()` is `***`. */

export const MASK = '***';

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.toPrimitive](): string {
    return MASK;
  }

  /** What `util.inspect` and `console.log` print. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return MASK;
  }
}
