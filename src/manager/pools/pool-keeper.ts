/** Looks after one pool. Every process that uses it has one of these; one of them at a time leads, makes and tidies. */
import { toSubletError } from '../../core/errors.ts';
import type { SubletError } from '../../core/errors.ts';
import type { Breaker } from '../../core/breaker.ts';
import { CLOSED_BREAKER, afterFailure, afterSuccess, ceilingAt, failureOf, triesAllowed } from '../../core/breaker.ts';
import { allowanceAt, howManyToMake } from '../../core/pool-policy.ts';
import type { PoolCounts } from '../../core/pool-settings.ts';
import type { Engine } from '../engine.ts';
import { describe } from '../engine.ts';
import { repeat } from '../repeat.ts';
import { makeForPool } from './make-for-pool.ts';
import type { PoolPlan } from './pool-plan.ts';
import { tidyPool } from './tidy-pool.ts';

/** One that leads is believed for this long: when it dies, another leads then. */
const TURN_MS = 3_000;
const TIDY_EVERY_MS = 5_000;
/** Changes come in crowds: one look is enough for all that come within this. */
const SOON_MS = 2;

export interface KeeperHooks {
  plan(): Promise<PoolPlan>;
  /** Something became idle. */
  onIdle(): void;
  /** Nothing can be made, and trying again would not help. */
  onHopeless(cause: SubletError): void;
}

export class PoolKeeper {
  readonly #engine: Engine;
  readonly #name: string;
  readonly #hooks: KeeperHooks;
  #breaker: Breaker = CLOSED_BREAKER;
  #lastError: SubletError | undefined;
  #making = 0;
  #allowance = Infinity;
  #allowedAt: number;
  #leadsUntil = -Infinity;
  #tidiedAt = -Infinity;
  #kept: Promise<void> | undefined;
  #looking: Promise<void> | undefined;
  #isSoon = false;
  #isWantedAgain = false;
  #stop: () => void = () => {};

  constructor(engine: Engine, name: string, hooks: KeeperHooks) {
    this.#engine = engine;
    this.#name = name;
    this.#hooks = hooks;
    this.#allowedAt = engine.ports.clock.elapsed();
  }

  get breaker(): Breaker {
    return this.#breaker;
  }

  /** What the last create failed with; undefined when the last one did not. */
  get lastError(): SubletError | undefined {
    return this.#lastError;
  }

  /** On record from now on as one who keeps the pool. */
  keep(plan: PoolPlan): Promise<void> {
    this.#kept ??= this.#begin(plan).catch((cause: unknown) => {
      this.#kept = undefined;
      throw cause;
    });
    return this.#kept;
  }

  /** Looks again soon. */
  wake(): void {
    if (this.#isSoon || this.#kept === undefined || this.#engine.closing.aborted) return;
    this.#isSoon = true;
    this.#engine.ports.clock.schedule(SOON_MS, () => void this.look(), { ref: false });
  }

  /** One look at a time; one that is asked for meanwhile comes after it. */
  look(): Promise<void> {
    this.#isSoon = false;
    if (this.#looking !== undefined) {
      this.#isWantedAgain = true;
      return this.#looking;
    }
    const looking = this.#look()
      .catch((cause: unknown) => {
        this.#engine.ports.log.warn({ pool: this.#name, error: describe(cause) }, 'pool not looked after');
      })
      .finally(() => {
        this.#looking = undefined;
        if (this.#isWantedAgain) this.wake();
        this.#isWantedAgain = false;
      });
    this.#looking = looking;
    this.#engine.inBackground('pool not looked after', looking);
    return looking;
  }

  /** Lets another lead, at once. */
  async leave(): Promise<void> {
    this.#stop();
    if (this.#kept === undefined) return;
    const { store } = this.#engine.ports;
    await store.pools.unkeep(this.#name, this.#engine.ownerId);
    const lane = this.#engine.keptLanes.get(this.#name);
    if (lane !== undefined && this.#leadsUntil > this.#engine.ports.clock.elapsed())
      await store.ledger.claimTurn(turnOf(this.#name, lane), this.#engine.ownerId, this.#engine.now(), 0);
  }

  async #begin({ name, lane }: PoolPlan): Promise<void> {
    const engine = this.#engine;
    await engine.register();
    await engine.ports.store.pools.keep(name, lane, engine.ownerId);
    engine.keptLanes.set(name, lane);
    this.#stop = repeat(engine.ports.clock, engine.config.poolIntervalMs, () => this.look());
  }

  async #look(): Promise<void> {
    const engine = this.#engine;
    if (engine.closing.aborted) return;
    const plan = await this.#hooks.plan();
    if (!(await this.#leads(plan))) return;
    const counts = await engine.ports.store.pools.counts(plan.scope, engine.now());
    for (let left = this.#wanted(plan, counts); left > 0; left--) void this.#make(plan, counts);
    const elapsed = engine.ports.clock.elapsed();
    if (elapsed - this.#tidiedAt < TIDY_EVERY_MS) return;
    this.#tidiedAt = elapsed;
    await engine.ports.store.pools.keep(plan.name, plan.lane, engine.ownerId);
    await tidyPool(engine, plan, counts);
  }

  async #leads({ name, lane }: PoolPlan): Promise<boolean> {
    const engine = this.#engine;
    const { store, clock } = engine.ports;
    const elapsed = clock.elapsed();
    if (engine.keptLanes.get(name) !== lane) {
      await store.pools.keep(name, lane, engine.ownerId);
      engine.keptLanes.set(name, lane);
      this.#leadsUntil = -Infinity;
    }
    // Renewed when two thirds of it are over, so that a busy pool does not write for every look.
    if (elapsed < this.#leadsUntil - (TURN_MS * 2) / 3) return true;
    if (!(await store.ledger.claimTurn(turnOf(name, lane), engine.ownerId, engine.now(), TURN_MS))) return false;
    this.#leadsUntil = elapsed + TURN_MS;
    return true;
  }

  #wanted({ settings }: PoolPlan, counts: PoolCounts): number {
    const { clock } = this.#engine.ports;
    const elapsed = clock.elapsed();
    this.#allowance = allowanceAt(settings, this.#allowance, elapsed - this.#allowedAt);
    this.#allowedAt = elapsed;
    const ceiling = ceilingAt(this.#breaker, elapsed);
    const facts = { ...counts, making: this.#making, ceiling, allowance: this.#allowance };
    return Math.min(howManyToMake(settings, facts), triesAllowed(this.#breaker, elapsed) - this.#making);
  }

  async #make(plan: PoolPlan, counts: PoolCounts): Promise<void> {
    this.#making += 1;
    this.#allowance -= 1;
    const engine = this.#engine;
    try {
      const made = makeForPool(engine, plan, counts);
      engine.inBackground(
        'not made for a pool',
        made.catch(() => {}),
      );
      if ((await made) === undefined) return;
      await this.#succeeded();
      this.#hooks.onIdle();
    } catch (cause) {
      if (!engine.closing.aborted) await this.#failed(toSubletError(cause, 'CREATE_FAILED'), counts.total);
    } finally {
      this.#making -= 1;
      this.wake();
    }
  }

  async #succeeded(): Promise<void> {
    const wasOpen = this.#breaker.openUntil > 0;
    this.#breaker = afterSuccess(this.#breaker);
    this.#lastError = undefined;
    if (wasOpen) await this.#tell('pool.recovered', 'sandboxes can be made again');
  }

  async #failed(cause: SubletError, total: number): Promise<void> {
    const engine = this.#engine;
    engine.tallies.count(this.#name, 'createFailures');
    engine.ports.log.warn({ pool: this.#name, error: describe(cause) }, 'not made for a pool');
    const failure = failureOf(cause);
    const elapsed = engine.ports.clock.elapsed();
    const wasOpen = this.#breaker.openUntil > elapsed;
    this.#breaker = afterFailure(this.#breaker, failure, total, elapsed);
    this.#lastError = cause;
    if (!wasOpen && this.#breaker.openUntil > elapsed) await this.#tell('pool.tripped', describe(cause));
    if (!cause.retryable && !failure.isCapacity) this.#hooks.onHopeless(cause);
  }

  #tell(type: 'pool.tripped' | 'pool.recovered', cause: string): Promise<void> {
    const details = { pool: this.#name, failures: this.#breaker.failures };
    return this.#engine.tell({ type, cause, details });
  }
}

function turnOf(name: string, lane: string): string {
  return `pool:${name}:${lane}`;
}
