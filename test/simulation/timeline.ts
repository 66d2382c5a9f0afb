/** Virtual time: what is going to happen, in order, one thing at a time. */

export interface Planned {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
  isOff: boolean;
}

export class Timeline {
  #now = 0;
  #steps = 0;
  #order = 0;
  readonly #heap: Planned[] = [];

  /** True time, in milliseconds since the beginning. No process sees it: each has the clock of its host. */
  get now(): number {
    return this.#now;
  }

  get steps(): number {
    return this.#steps;
  }

  plan(inMs: number, happen: () => void): Planned {
    const planned: Planned = { at: this.#now + Math.max(0, inMs), order: this.#order++, happen, isOff: false };
    this.#heap.push(planned);
    this.#rise(this.#heap.length - 1);
    return planned;
  }

  /** The next thing happens, unless it lies behind `until`. False when nothing did. */
  step(until: number): boolean {
    for (let next = this.#heap[0]; next !== undefined && next.at <= until; next = this.#heap[0]) {
      this.#removeFirst();
      if (next.isOff) continue;
      this.#now = next.at;
      this.#steps += 1;
      next.happen();
      return true;
    }
    if (until !== Infinity) this.#now = Math.max(this.#now, until);
    return false;
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #rise(start: number): void {
    for (let index = start; index > 0;) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #sink(start: number): void {
    for (let index = start; ;) {
      let first = index;
      for (const child of [2 * index + 1, 2 * index + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, first)) first = child;
      }
      if (first === index) return;
      this.#swap(index, first);
      index = first;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a]!, this.#heap[b]!];
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b]!, this.#heap[a]!];
  }
}

/** Everything that only waits for other promises has happened: the tick queue runs when no microtask is left. */
export function drain(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
