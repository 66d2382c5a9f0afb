/** Creates of this process that a service has not finished, by name: their callers may have given up on them. */

export class PendingCreates<T> {
  readonly #last = new Map<string, Promise<T>>();

  /** What one of that name that is on its way brings; or what `create` does, if there is none or it brings nothing. */
  after(name: string, create: () => Promise<T>): Promise<T> {
    const earlier = this.#last.get(name);
    const last = earlier === undefined ? create() : earlier.catch(create);
    this.#last.set(name, last);
    const over = (): void => {
      if (this.#last.get(name) === last) this.#last.delete(name);
    };
    last.then(over, over);
    return last;
  }

  /** Resolves when none of that name is on its way any more. */
  async settled(name: string): Promise<void> {
    await this.#last.get(name)?.catch(() => undefined);
  }
}
