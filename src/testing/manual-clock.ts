/** A clock that stands still until it is told to go on. */
import type { Clock } from '../core/clock.ts';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

export class ManualClock implements Clock {
  #now: number;
  #elapsed = 0;
  readonly #timers = new Set<Timer>();

  constructor(now: number = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  /** Timers not yet fired or cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  /** Sets the time of day, as an administrator would: nothing falls due by it. */
  jump(ms: number): void {
    this.#now += ms;
  }

  schedule(ms: number, callback: () => void): () => void {
    const timer = { at: this.#elapsed + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Fires what falls due, in order, letting what each one sets off happen before the next. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsed + ms;
    await settle();
    for (let timer = this.#next(until); timer !== undefined; timer = this.#next(until)) {
      this.#timers.delete(timer);
      this.#pass(timer.at);
      timer.callback();
      await settle();
    }
    this.#pass(until);
  }

  #pass(until: number): void {
    if (until <= this.#elapsed) return;
    this.#now += until - this.#elapsed;
    this.#elapsed = until;
  }

  #next(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= until && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }
}

/** Everything that only waits for other promises has happened. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
