/** Creates of this process that a service has not finished, by name: their callers may have given up on them. */

export class PendingCreates {
  readonly #pending = new Map<string, Set<Promise<void>>>();

  track<T>(name: string, create: Promise<T>): Promise<T> {
    const all = this.#pending.get(name) ?? new Set<Promise<void>>();
    this.#pending.set(name, all);
    const over = create.then(
      () => undefined,
      () => undefined,
    );
    all.add(over);
    void over.then(() => {
      all.delete(over);
      if (all.size === 0 && this.#pending.get(name) === all) this.#pending.delete(name);
    });
    return create;
  }

  /** Resolves when none of that name is on its way any more. */
  async settled(name: string): Promise<void> {
    await Promise.all([...(this.#pending.get(name) ?? [])]);
  }
}
