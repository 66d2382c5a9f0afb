/** Leases: an exclusive right to a sandbox, kept in its row, so that a lease and a move of the sandbox never disagree. */
import type { OwnerId, SandboxId } from '../core/ids.ts';
import type { SandboxRecord } from './records.ts';

export interface LeaseWish {
  readonly holder: string;
  readonly ownerId: OwnerId;
  readonly ttlMs: number;
  readonly at: number;
  /** Of leases that have expired only this one may be passed over. Default: any. */
  readonly over?: number | undefined;
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
}
