/** One pool as this process uses it: whoever asks gets the oldest idle sandbox, or waits in the order of coming. */
import type { Lease } from '../../core/api.ts';
import { SubletError, abortedError } from '../../core/errors.ts';
import { ceilingAt } from '../../core/breaker.ts';
import { isFull } from '../../core/pool-policy.ts';
import type { PoolDefinition, PoolLeaseOptions } from '../../core/pools.ts';
import type { Engine } from '../engine.ts';
import { leaseTerms } from '../kept-lease.ts';
import { handOver } from './hand-over.ts';
import { leaseOutside } from './lease-outside.ts';
import { exhaustedError } from './pool-errors.ts';
import { PoolKeeper } from './pool-keeper.ts';
import type { PoolPlan } from './pool-plan.ts';
import { planPool } from './pool-plan.ts';
import type { Taken, Waiter } from './pool-queue.ts';
import { PoolQueue, TICKET_TTL_MS } from './pool-queue.ts';

/** A profile that was changed counts after this. */
const PLAN_FRESH_MS = 1_000;
/** So many in a row that are of no use are an answer. */
const MOST_DUDS = 10;

export class Pool {
  readonly name: string;
  readonly keeper: PoolKeeper;
  readonly #engine: Engine;
  readonly #queue: PoolQueue;
  #definition: PoolDefinition | undefined;
  #plan: { readonly plan: Promise<PoolPlan>; readonly at: number } | undefined;

  constructor(engine: Engine, name: string) {
    this.name = name;
    this.#engine = engine;
    this.#queue = new PoolQueue(engine, (taken) => this.#returnUnused(taken));
    this.keeper = new PoolKeeper(engine, name, {
      plan: () => this.plan(),
      onIdle: () => this.#queue.wake(),
      onHopeless: (cause) => this.#queue.refuseAll(cause),
    });
  }

  define(definition: PoolDefinition): void {
    this.#definition = definition;
    this.#plan = undefined;
    this.keeper.wake();
  }

  plan(): Promise<PoolPlan> {
    const elapsed = this.#engine.ports.clock.elapsed();
    if (this.#plan !== undefined && elapsed - this.#plan.at < PLAN_FRESH_MS) return this.#plan.plan;
    const plan = planPool(this.#engine, this.name, this.#definition);
    this.#plan = { plan, at: elapsed };
    plan.catch(() => (this.#plan = undefined));
    return plan;
  }

  /** Something of it came back or went. */
  changed(): void {
    this.#queue.wake();
    this.keeper.wake();
  }

  async lease(options: PoolLeaseOptions): Promise<Lease> {
    const engine = this.#engine;
    engine.assertOpen();
    const { signal } = options;
    if (signal?.aborted === true) throw abortedError(signal);
    const plan = await this.plan();
    await this.keeper.keep(plan);
    const startedAt = engine.ports.clock.elapsed();
    const timeoutMs = options.timeoutMs ?? plan.settings.waitTimeoutSeconds * 1000;
    const env = { ...plan.env, ...options.env };
    let isMiss = false;
    for (let duds = 0; duds < MOST_DUDS; duds++) {
      const leftMs = Math.max(0, timeoutMs - (engine.ports.clock.elapsed() - startedAt));
      if (duds > 0 && leftMs === 0) throw await this.#exhausted(plan, timeoutMs);
      let taken = this.#queue.size === 0 ? await this.#take(plan, options) : undefined;
      if (taken === undefined) {
        if (!isMiss) engine.tallies.count(this.name, 'misses');
        isMiss = true;
        const instead = await this.#whenFull(plan, options, env);
        if (instead !== undefined) return instead;
        taken = await this.#wait(plan, options, leftMs);
      }
      this.keeper.wake();
      const lease = await handOver(engine, taken, { env, signal, leftMs });
      if (lease === undefined) continue;
      engine.tallies.count(this.name, isMiss ? 'waits' : 'hits');
      const waitedMs = engine.ports.clock.elapsed() - startedAt;
      engine.tallies.handedOver(this.name, waitedMs, engine.now() - taken.record.createdAt);
      return lease;
    }
    throw new SubletError(
      'PROVIDER_UNAVAILABLE',
      `Of pool "${this.name}" ${MOST_DUDS} sandboxes in a row were of no use.`,
      {
        details: { pool: this.name },
        hint: 'See why in: sublet events',
      },
    );
  }

  #wish(plan: PoolPlan, options: PoolLeaseOptions): Waiter['wish'] {
    const { ownership } = this.#engine;
    const { name: pool, lane, wanted } = plan;
    return { ...ownership, ...leaseTerms(this.#engine, options), pool, lane, network: wanted.network };
  }

  async #take(plan: PoolPlan, options: PoolLeaseOptions): Promise<Taken | undefined> {
    const engine = this.#engine;
    const askedAt = engine.ports.clock.elapsed();
    const record = await engine.ports.store.pools.take({ ...this.#wish(plan, options), at: engine.now() });
    return record && { record, askedAt };
  }

  /** What a full pool has for those who do not wait; undefined when the caller is to wait. */
  async #whenFull(
    plan: PoolPlan,
    options: PoolLeaseOptions,
    env: Readonly<Record<string, string>>,
  ): Promise<Lease | undefined> {
    const { settings } = plan;
    if (settings.whenFull === 'wait') return undefined;
    const engine = this.#engine;
    const counts = await engine.ports.store.pools.counts(plan.scope, engine.now());
    const elapsed = engine.ports.clock.elapsed();
    const isBroken = this.keeper.breaker.openUntil > elapsed;
    if (!isBroken && !isFull(settings, counts, ceilingAt(this.keeper.breaker, elapsed))) return undefined;
    if (settings.whenFull === 'fail') throw exhaustedError(plan, counts, this.keeper, 'it is full');
    engine.tallies.count(this.name, 'outside');
    return leaseOutside(engine, plan, options, env);
  }

  async #wait(plan: PoolPlan, options: PoolLeaseOptions, timeoutMs: number): Promise<Taken> {
    const engine = this.#engine;
    const { store, clock } = engine.ports;
    const wish = this.#wish(plan, options);
    const { pool, lane, ownerId, hostId } = wish;
    const place = { pool, lane, ownerId, hostId, at: engine.now(), ttlMs: TICKET_TTL_MS };
    const ticket = await store.pools.queue(place);
    this.keeper.wake();
    let isOver = false;
    let cleanUp = (): void => {};
    try {
      return await new Promise<Taken>((resolve, reject) => {
        // At once, so that nobody gives to one who has given up and is still to hear so.
        const giveUp = (cause: Error): void => {
          isOver = true;
          reject(cause);
        };
        const waiter: Waiter = {
          wish,
          ticket,
          give: (taken) => {
            if (!isOver) resolve(taken);
            return !isOver;
          },
          refuse: giveUp,
        };
        const abort = (event: Event): void => giveUp(abortedError(event.target as AbortSignal));
        const cancel = clock.schedule(timeoutMs, () => giveUp(new TimedOut()));
        const signals = [options.signal, engine.closing];
        for (const signal of signals) signal?.addEventListener('abort', abort, { once: true });
        cleanUp = () => {
          cancel();
          for (const signal of signals) signal?.removeEventListener('abort', abort);
          this.#queue.remove(waiter);
        };
        const aborted = signals.find((signal) => signal?.aborted === true);
        if (aborted === undefined) this.#queue.add(waiter);
        else giveUp(abortedError(aborted));
      }).finally(() => cleanUp());
    } catch (cause) {
      const error = cause instanceof TimedOut ? await this.#exhausted(plan, timeoutMs) : cause;
      engine.inBackground('place in the queue not given up', store.pools.unqueue(ticket));
      throw error;
    }
  }

  /** Whoever is told so has waited in vain: counted, and an event. */
  async #exhausted(plan: PoolPlan, timeoutMs: number): Promise<SubletError> {
    const { ports, ownerId, tallies } = this.#engine;
    const at = this.#engine.now();
    const counts = await ports.store.pools.counts(plan.scope, at).catch(() => undefined);
    tallies.count(this.name, 'timeouts');
    const error = exhaustedError(plan, counts, this.keeper, `none came free within ${timeoutMs / 1000} s`);
    const event = { at, type: 'pool.exhausted', ownerId, cause: error.message, details: error.details } as const;
    await ports.store.appendEvents([event]).catch(() => {});
    return error;
  }

  /** It came too late for whoever wanted it; nobody has used it. */
  async #returnUnused({ record }: Taken): Promise<void> {
    const engine = this.#engine;
    await engine.ports.store.pools.giveBack(record.id, record.fence, 'nobody wanted it any more', engine.now());
    this.changed();
  }
}

class TimedOut extends Error {}
