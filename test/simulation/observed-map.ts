/** A table whose every change is seen, with what was there before. */

export type Watcher<K, V> = (key: K, before: V | undefined, after: V | undefined) => void;

export class ObservedMap<K, V> extends Map<K, V> {
  #watcher: Watcher<K, V> = () => {};

  watch(watcher: Watcher<K, V>): void {
    this.#watcher = watcher;
  }

  override set(key: K, after: V): this {
    const before = this.get(key);
    super.set(key, after);
    this.#watcher(key, before, after);
    return this;
  }

  override delete(key: K): boolean {
    const before = this.get(key);
    const isDeleted = super.delete(key);
    if (isDeleted) this.#watcher(key, before, undefined);
    return isDeleted;
  }
}
