/** Pools: what is asked of one, what is known of one, and how it is managed. */
import type { NetworkLevel } from './network.ts';
import type { LeaseTerms, SandboxOptions } from './options.ts';

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

/** How a sandbox is taken from a pool. */
export interface PoolLeaseOptions extends LeaseTerms {
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for one. Default: the pool's `waitTimeoutSeconds`. POOL_EXHAUSTED when none came. */
  readonly timeoutMs?: number | undefined;
  /** Variables of this holder's commands, beyond the profile's. A sandbox that waits has none. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A pool by API: what its sandboxes are, and how many. */
export interface PoolDefinition extends Partial<PoolSettings> {
  /** Default: the profile that the pool is named after. */
  readonly sandbox?: Omit<SandboxOptions, 'contextId' | 'signal'> | undefined;
}

/** A cumulative histogram: how many were at most so many milliseconds. The last is all of them. */
export interface PoolHistogram {
  readonly buckets: readonly { readonly atMostMs: number; readonly count: number }[];
  readonly count: number;
  readonly sumMs: number;
}

export interface PoolStats {
  /** Handed over at once. */
  readonly hits: number;
  /** Not there at once: waited for, made outside or refused. */
  readonly misses: number;
  /** Misses that waited and got one. */
  readonly waits: number;
  /** Waited, and none came in time. */
  readonly timeouts: number;
  /** Made outside the pool because it was full. */
  readonly outside: number;
  readonly made: number;
  readonly createFailures: number;
  readonly resets: number;
  /** By the reason. */
  readonly discards: Readonly<Record<string, number>>;
  /** How long those who got one had waited, those who got one at once included. */
  readonly wait: PoolHistogram;
  /** How old a sandbox was when it was handed over. */
  readonly age: PoolHistogram;
}

export interface PoolInfo extends PoolCounts {
  readonly name: string;
  readonly profile: string;
  readonly settings: PoolSettings;
  /** Processes that keep it. */
  readonly keepers: number;
}

/** Management of pools. What is drained is made again by whoever keeps the pool. */
export interface Pools {
  /** For this process, in place of what the profile says. */
  define(name: string, definition: PoolDefinition): void;
  /** Those of profiles, those of this process, and those that have sandboxes. */
  list(): Promise<readonly PoolInfo[]>;
  get(name: string): Promise<PoolInfo>;
  /** Since the store was made. */
  stats(name: string): Promise<PoolStats>;
  /**
   * Keeps the pool in this process and resolves when that many are idle: `minIdle` and `minPaused` unless told. `keep`: they
   * stay when this process leaves, until they have been idle for too long.
   */
  warm(name: string, options?: WarmOptions): Promise<PoolInfo>;
  /** Destroys what is idle, and returns how many. */
  drain(name: string, cause?: string): Promise<number>;
}

export interface WarmOptions {
  readonly count?: number | undefined;
  readonly keep?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}
