/** Those of this process who wait for a pool. Each has a place in the store's queue; the first of them asks, for all of them. */
import type { Clock } from '../../core/clock.ts';
import type { SubletError } from '../../core/errors.ts';
import type { TakeWish } from '../../store/pools.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Engine } from '../engine.ts';
import { describe } from '../engine.ts';

/** What somebody who waits was given, and when the store was asked for it. */
export interface Taken {
  readonly record: SandboxRecord;
  readonly askedAt: number;
}

export interface Waiter {
  readonly wish: Omit<TakeWish, 'at' | 'ticket'>;
  readonly ticket: number;
  /** False when it has given up meanwhile. */
  give(taken: Taken): boolean;
  refuse(cause: SubletError): void;
}

/** A place counts for this long after its process was last heard of. */
export const TICKET_TTL_MS = 5_000;
const RENEW_EVERY = 3;

export class PoolQueue {
  readonly #engine: Engine;
  readonly #giveBack: (taken: Taken) => Promise<void>;
  #waiters: Waiter[] = [];
  #isServing = false;
  #isWoken = false;
  #wake: () => void = () => {};
  #renewedAt = -Infinity;

  /** `giveBack`: of what came too late for whoever wanted it, unused. */
  constructor(engine: Engine, giveBack: (taken: Taken) => Promise<void>) {
    this.#engine = engine;
    this.#giveBack = giveBack;
  }

  get size(): number {
    return this.#waiters.length;
  }

  add(waiter: Waiter): void {
    // Numbers are given in the order of coming, and answers may overtake each other.
    const index = this.#waiters.findIndex(({ ticket }) => ticket > waiter.ticket);
    this.#waiters.splice(index === -1 ? this.#waiters.length : index, 0, waiter);
    if (!this.#isServing) this.#engine.inBackground('nobody who waits was served', this.#serve());
    else this.wake();
  }

  remove(waiter: Waiter): void {
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
    this.wake();
  }

  /** Something may be idle. */
  wake(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /** Trying again would not help: those who wait are told now. */
  refuseAll(cause: SubletError): void {
    for (const waiter of this.#waiters.splice(0)) waiter.refuse(cause);
    this.wake();
  }

  async #serve(): Promise<void> {
    const { closing, ports } = this.#engine;
    this.#isServing = true;
    try {
      while (this.#waiters.length > 0 && !closing.aborted) {
        this.#isWoken = false;
        const isServed = await this.#serveFirst().catch((cause: unknown) => {
          ports.log.warn({ error: describe(cause) }, 'pool not asked; will be tried again');
          return false;
        });
        if (!isServed) await this.#pause(ports.clock);
      }
    } finally {
      this.#isServing = false;
    }
  }

  /** False when there is nothing for it yet. */
  async #serveFirst(): Promise<boolean> {
    const engine = this.#engine;
    const { store, clock } = engine.ports;
    await this.#stay();
    const [first] = this.#waiters;
    if (first === undefined) return true;
    const askedAt = clock.elapsed();
    const record = await store.pools.take({ ...first.wish, ticket: first.ticket, at: engine.now() });
    if (record === undefined) return false;
    this.#waiters = this.#waiters.filter((waiter) => waiter !== first);
    const taken = { record, askedAt };
    if (!first.give(taken)) await this.#giveBack(taken);
    return true;
  }

  /** Says that those who wait are still there. */
  async #stay(): Promise<void> {
    const { store, clock } = this.#engine.ports;
    const elapsed = clock.elapsed();
    if (elapsed - this.#renewedAt < TICKET_TTL_MS / RENEW_EVERY) return;
    await store.pools.stay(this.#engine.ownerId, this.#engine.now());
    this.#renewedAt = elapsed;
  }

  // Other processes give back without a word to this one.
  #pause(clock: Clock): Promise<void> {
    return new Promise((resolve) => {
      const over = (): void => {
        cancel();
        this.#wake = () => {};
        this.#engine.closing.removeEventListener('abort', over);
        resolve();
      };
      let cancel = (): void => {};
      this.#wake = over;
      this.#engine.closing.addEventListener('abort', over, { once: true });
      cancel = clock.schedule(this.#engine.config.poolPollMs, over);
      if (this.#isWoken || this.#engine.closing.aborted) over();
    });
  }
}
