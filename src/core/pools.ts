/** Pools as callers see them: taking from one, what is known of one, and how it is managed. */
import type { LeaseTerms, SandboxOptions } from './options.ts';
import type { PoolCounts, PoolOverrides, PoolSettings } from './pool-settings.ts';

export type { PoolCounts, PoolReuse, PoolSettings, WhenFull } from './pool-settings.ts';

/** How a sandbox is taken from a pool. */
export interface PoolLeaseOptions extends LeaseTerms {
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for one. Default: the pool's `waitTimeoutSeconds`. POOL_EXHAUSTED when none came. */
  readonly timeoutMs?: number | undefined;
  /** Variables of this holder's commands, beyond the profile's. A sandbox that waits has none. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A pool by API: what its sandboxes are, and how many. */
export interface PoolDefinition extends PoolOverrides {
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
