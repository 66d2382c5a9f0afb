/** Leases: an exclusive right to a sandbox, kept in its row, so that a lease and a move of the sandbox never disagree. */
import type { OwnerId, SandboxId } from '../core/ids.ts';
import type { SessionKey } from '../core/session-key.ts';
import type { BoundSession, SandboxRecord } from './records.ts';

export interface LeaseWish {
  readonly holder: string;
  readonly ownerId: OwnerId;
  readonly ttlMs: number;
  readonly at: number;
  /** Of leases that have expired only this one may be passed over. Default: any. */
  readonly over?: number | undefined;
}

/** A key goes from one of its sandboxes to another that was filled for it. */
export interface HandOver {
  readonly from: SandboxId;
  readonly to: SandboxId;
  /** The lease under which `from` was emptied: whoever has lost it moves nothing. */
  readonly token: number;
  readonly at: number;
  readonly cause: string;
  /** Who goes on to destroy `from`. */
  readonly ownerId: OwnerId;
  /** When others may. */
  readonly dueAt: number;
}

export interface HandedOver {
  readonly bound: BoundSession;
  /** What the key had, in `destroying`. */
  readonly left: SandboxRecord;
}

/** The row after the change, or undefined and nothing changed. A sandbox that moves to `destroying` or `lost` has no lease any more. */
export interface Leases {
  /**
   * Of a running, paused or stopped sandbox that nobody holds, or whose holder let it expire. The token is greater than
   * every earlier one. Appends `lease.acquired`, and `lease.lost` for a holder that is passed over.
   */
  acquire(id: SandboxId, wish: LeaseWish): Promise<SandboxRecord | undefined>;
  /** Only with the present token; also when it has expired and nobody took it. */
  renew(id: SandboxId, token: number, at: number): Promise<SandboxRecord | undefined>;
  /** Only with the present token, and not of a pool's sandbox, which would be taken for clean. Appends `lease.released`. */
  release(id: SandboxId, token: number, cause: string, at: number): Promise<SandboxRecord | undefined>;
  /**
   * Binds the key to `to`, which is its session's from then on, and moves `from` to `destroying`: both or neither. undefined, and
   * nothing is changed, unless the key is bound to `from`, that has this lease, and `to` runs, carries the key and has a network
   * at least as tight as the session's. Appends `session.migrated` and `sandbox.destroying`.
   */
  handOver(key: SessionKey, move: HandOver): Promise<HandedOver | undefined>;
}
