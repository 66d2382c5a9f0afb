/** Every pool that this process uses, and management of pools by name. */
import type { Lease } from '../../core/api.ts';
import { SubletError, abortedError } from '../../core/errors.ts';
import { poolProblems } from '../../core/pool-problems.ts';
import type { PoolDefinition, PoolInfo, PoolLeaseOptions, PoolStats, Pools, WarmOptions } from '../../core/pools.ts';
import type { Engine } from '../engine.ts';
import { describe } from '../engine.ts';
import { discard } from './discard.ts';
import { makeForPool } from './make-for-pool.ts';
import { Pool } from './pool.ts';
import { toPoolStats } from './pool-tallies.ts';

const RESTING = ['running', 'paused', 'stopped'] as const;

export class PoolManagement implements Pools {
  readonly #engine: Engine;
  readonly #pools = new Map<string, Pool>();

  constructor(engine: Engine) {
    this.#engine = engine;
    engine.onPoolChange = (name) => {
      if (name !== undefined) this.#pools.get(name)?.changed();
    };
  }

  lease(name: string, options: PoolLeaseOptions): Promise<Lease> {
    return this.#pool(name).lease(options);
  }

  /** Lets others lead what this process led. */
  async leave(): Promise<void> {
    await Promise.all(
      [...this.#pools.values()].map(({ name, keeper }) =>
        keeper.leave().catch((cause: unknown) => {
          this.#engine.ports.log.warn({ pool: name, error: describe(cause) }, 'pool not left');
        }),
      ),
    );
  }

  define(name: string, definition: PoolDefinition): void {
    this.#engine.assertOpen();
    const { sandbox: _, ...settings } = definition;
    const problems = poolProblems({ ...settings });
    if (problems.length > 0) {
      const lines = problems.map(({ field, message }) => `  ${field}: ${message}`);
      throw new SubletError('CONFIG_INVALID', `Pool "${name}" cannot be defined:\n${lines.join('\n')}`, {
        details: { pool: name },
      });
    }
    this.#pool(name).define(definition);
  }

  async list(): Promise<readonly PoolInfo[]> {
    const { ports } = this.#engine;
    const [inStore, inProfiles] = await Promise.all([ports.store.pools.names(), ports.pools?.() ?? []]);
    const names = [...new Set([...inProfiles, ...this.#pools.keys(), ...inStore])].toSorted();
    const known = await Promise.all(
      names.map((name) =>
        this.get(name).catch((cause: unknown) => {
          // Its profile may be gone while sandboxes of it are left.
          if (SubletError.is(cause, 'PROFILE_NOT_FOUND')) return undefined;
          throw cause;
        }),
      ),
    );
    return known.filter((info) => info !== undefined);
  }

  async get(name: string): Promise<PoolInfo> {
    const engine = this.#engine;
    const { wanted, settings, scope } = await this.#pool(name).plan();
    const { store } = engine.ports;
    const [counts, keepers] = await Promise.all([store.pools.counts(scope, engine.now()), store.pools.keepers(name)]);
    return { name, profile: wanted.profile, ...counts, keepers: keepers.length, settings };
  }

  async stats(name: string): Promise<PoolStats> {
    await this.#pool(name).plan();
    const { ports, tallies } = this.#engine;
    return toPoolStats([...(await ports.store.pools.tallies(name)), ...tallies.unwritten(name)]);
  }

  async warm(name: string, { count, keep = false, signal }: WarmOptions = {}): Promise<PoolInfo> {
    const engine = this.#engine;
    engine.assertOpen();
    const pool = this.#pool(name);
    const plan = await pool.plan();
    const { settings } = plan;
    const wanted = count ?? settings.minIdle + settings.minPaused;
    if (wanted > settings.maxTotal) {
      throw new SubletError('USAGE', `Pool "${name}" has at most ${settings.maxTotal} sandboxes, not ${wanted}.`, {
        hint: 'Raise maxTotal in the profile.',
      });
    }
    if (!keep) await pool.keeper.keep(plan);
    for (;;) {
      if (signal?.aborted === true) throw abortedError(signal);
      const counts = await engine.ports.store.pools.counts(plan.scope, engine.now());
      const missing = wanted - counts.idle - counts.paused;
      if (missing <= 0) return this.get(name);
      const atOnce = Math.min(missing, settings.createConcurrency);
      const making = Array.from({ length: atOnce }, () => makeForPool(engine, plan, counts, keep));
      const made = await Promise.allSettled(making);
      for (const result of made) if (result.status === 'rejected') throw result.reason;
      if (made.every((result) => result.status === 'fulfilled' && result.value === undefined)) {
        throw new SubletError(
          'POOL_EXHAUSTED',
          `Pool "${name}" is full: ${missing} more than there may be are wanted.`,
          {
            details: { pool: name, ...counts, maxTotal: settings.maxTotal },
            hint: 'Wait until some are released, or raise maxTotal.',
          },
        );
      }
      pool.changed();
    }
  }

  async drain(name: string, cause = 'drained'): Promise<number> {
    const engine = this.#engine;
    engine.assertOpen();
    await engine.register();
    const { store } = engine.ports;
    const rows = await store.findSandboxes({ pool: name, states: RESTING, limit: Number.MAX_SAFE_INTEGER });
    let count = 0;
    for (const row of rows) {
      if (row.lease !== undefined) continue;
      if (await discard(engine, row, cause, { version: row.version }).catch(() => false)) count += 1;
    }
    const { ownerId, details } = engine.signature;
    const event = { at: engine.now(), type: 'pool.drained', ownerId, cause } as const;
    await store.appendEvents([{ ...event, details: { ...details, pool: name, count } }]);
    return count;
  }

  #pool(name: string): Pool {
    const known = this.#pools.get(name);
    if (known !== undefined) return known;
    const pool = new Pool(this.#engine, name);
    this.#pools.set(name, pool);
    return pool;
  }
}
