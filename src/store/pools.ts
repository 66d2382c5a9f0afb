/** Pools as a store keeps them: taking is one transaction, and whoever waits is served in the order of coming. */
import type { OwnerId, SandboxId } from '../core/ids.ts';
import type { NetworkLevel } from '../core/network.ts';
import type { PoolCounts } from '../core/pool-settings.ts';
import type { LeaseWish } from './leases.ts';
import type { NewSandbox, OwnerRecord, SandboxRecord } from './records.ts';

export interface PoolScope {
  readonly pool: string;
  /** Only what is on this host: of a provider whose sandboxes others cannot reach. */
  readonly hostId?: string | undefined;
}

/** Whoever takes it has it from then on: it follows that process. */
export interface TakeWish extends Omit<LeaseWish, 'over'>, Pick<SandboxRecord, 'hostId' | 'hostName'> {
  readonly pool: string;
  readonly lane: string;
  readonly network: NetworkLevel;
  /** The caller's place in the queue. One who has none comes after everybody who waits. */
  readonly ticket?: number | undefined;
}

export interface NewTicket {
  readonly pool: string;
  readonly lane: string;
  readonly ownerId: OwnerId;
  readonly hostId: string;
  readonly at: number;
  /** It counts for this long after it was last seen: whoever dies holds nobody up. */
  readonly ttlMs: number;
}

export interface Keeper {
  readonly lane: string;
  readonly owner: OwnerRecord;
}

export interface TallyRow {
  readonly pool: string;
  readonly name: string;
  readonly value: number;
}

export interface PoolRows {
  /** As `insertSandbox`, unless the pool has `maxTotal` already: then undefined, and nothing is written. */
  admit(sandbox: NewSandbox, scope: PoolScope, maxTotal: number): Promise<SandboxRecord | undefined>;
  /**
   * Leases the oldest idle one of the lane: running, paused only when none runs, one that the taker's process has made
   * before those of others. None is given that everybody who came earlier needs. Appends `lease.acquired`.
   */
  take(wish: TakeWish): Promise<SandboxRecord | undefined>;
  /** Idle again, after a reset. Only with the present token. Appends `pool.returned`. */
  giveBack(id: SandboxId, token: number, cause: string, at: number): Promise<SandboxRecord | undefined>;
  counts(scope: PoolScope, at: number): Promise<PoolCounts>;
  /** Pools of which there is anything. */
  names(): Promise<readonly string[]>;

  /** A place in the queue, greater than all before. */
  queue(ticket: NewTicket): Promise<number>;
  /** Those of this owner count for their term again. */
  stay(ownerId: OwnerId, at: number): Promise<void>;
  /** Twice is harmless. */
  unqueue(ticket: number): Promise<void>;

  /** This process keeps a pool of this lane; for as long as it is on record as an owner. */
  keep(pool: string, lane: string, ownerId: OwnerId): Promise<void>;
  unkeep(pool: string, ownerId: OwnerId): Promise<void>;
  keepers(pool: string): Promise<readonly Keeper[]>;

  addToTallies(rows: readonly TallyRow[]): Promise<void>;
  tallies(pool: string): Promise<readonly TallyRow[]>;
}
