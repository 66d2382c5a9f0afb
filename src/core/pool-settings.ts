/** What is asked of a pool, what its sandboxes are made under, and how many there are of which. */
import type { NetworkLevel } from './network.ts';

/** What becomes of a sandbox after its use. Reuse without a reset does not exist. */
export type PoolReuse = 'never' | 'reset';
/** What a caller gets when nothing is idle and there may not be more. */
export type WhenFull = 'wait' | 'fail' | 'create';

export interface PoolSettings {
  /** How many are kept running and idle. */
  readonly minIdle: number;
  /** How many more are kept paused: they cost no CPU and are woken when they are handed over. */
  readonly minPaused: number;
  /** How many there may be, those in use, in the making and being destroyed included. */
  readonly maxTotal: number;
  /** How often one is used at most, where it is reused. 0 = no limit. */
  readonly maxUses: number;
  /** An idle one that is older is replaced. Each one's limit is up to a fifth less, so that not all go at once. 0 = never. */
  readonly maxAgeMinutes: number;
  /** One that is idle for longer, and is not needed for the minimum, is destroyed. */
  readonly idleTimeoutMinutes: number;
  /** How many are begun in a second at most. 0 = no limit. */
  readonly refillPerSecond: number;
  /** How many are made at once. */
  readonly createConcurrency: number;
  readonly whenFull: WhenFull;
  /** How long a caller waits unless it says otherwise. */
  readonly waitTimeoutSeconds: number;
  readonly reuse: PoolReuse;
}

/** Single settings, over the defaults. */
export type PoolOverrides = { readonly [K in keyof PoolSettings]?: PoolSettings[K] | undefined };

export const DEFAULT_POOL: PoolSettings = Object.freeze({
  minIdle: 0,
  minPaused: 0,
  maxTotal: 10,
  maxUses: 0,
  maxAgeMinutes: 60,
  idleTimeoutMinutes: 10,
  refillPerSecond: 0,
  createConcurrency: 2,
  whenFull: 'wait',
  waitTimeoutSeconds: 30,
  reuse: 'never',
});

/** The name of a profile's pool that is meant when only the profile is named. */
export const DEFAULT_POOL_NAME = 'default';

/** What a lease takes: the profile's name alone for its default pool. */
export function poolNameOf(profile: string, pool: string): string {
  return pool === DEFAULT_POOL_NAME ? profile : `${profile}/${pool}`;
}

/** What a pooled sandbox was made under: whoever finds its row knows what becomes of it. */
export interface PoolTerms {
  /** Its network when it was made. One that has been tightened never goes back. */
  readonly network: NetworkLevel;
  readonly reuse: PoolReuse;
  readonly maxUses: number;
  /** When it is too old to be handed over; undefined = never. */
  readonly expiresAt?: number | undefined;
  readonly idleMs: number;
}

export interface PoolCounts {
  /** Everything that there is, also what is being made or destroyed. */
  readonly total: number;
  /** Running, and nobody has it. */
  readonly idle: number;
  readonly paused: number;
  readonly leased: number;
  readonly creating: number;
  /** Callers in all processes. */
  readonly waiting: number;
}
