/** Whether a lease still stands: its end is an instant of its holder's clock, and clocks can be set. */
import type { SandboxId } from '../core/ids.ts';
import type { LeaseRecord, SandboxRecord } from '../store/records.ts';
import type { OwnerWatch } from './owner-watch.ts';
import type { ManagerPorts } from './ports.ts';

interface Seen {
  readonly lease: LeaseRecord;
  /** By a clock that nobody sets. */
  readonly since: number;
}

const MOST_SEEN = 10_000;

export class LeaseWatch {
  readonly #ports: ManagerPorts;
  readonly #owners: OwnerWatch;
  readonly #seen = new Map<SandboxId, Seen>();

  constructor(ports: ManagerPorts, owners: OwnerWatch) {
    this.#ports = ports;
    this.#owners = owners;
  }

  /**
   * The lease that keeps others away from the sandbox; undefined when nothing does. One that has expired still does while its
   * holder's process lives, until it has stood still under our eyes for a whole term.
   */
  async standing(record: SandboxRecord, now: number): Promise<LeaseRecord | undefined> {
    const { id, lease } = record;
    if (lease === undefined) {
      this.#seen.delete(id);
      return undefined;
    }
    const stillMs = this.#stillMs(id, lease);
    // One that lasts longer than a whole term from now was written by another clock: its end says nothing.
    if (lease.expiresAt > now && lease.expiresAt <= now + lease.ttlMs) return lease;
    const owner = await this.#owners.judge(lease.ownerId);
    const mayLive = owner === 'alive' || owner === 'unknown';
    return mayLive && stillMs < lease.ttlMs ? lease : undefined;
  }

  #stillMs(id: SandboxId, lease: LeaseRecord): number {
    const elapsed = this.#ports.clock.elapsed();
    const seen = this.#seen.get(id);
    if (seen?.lease.token === lease.token && seen.lease.expiresAt === lease.expiresAt) return elapsed - seen.since;
    // To begin again only makes us wait longer; to remember every sandbox there ever was would not end.
    if (this.#seen.size >= MOST_SEEN) this.#seen.clear();
    this.#seen.set(id, { lease, since: elapsed });
    return 0;
  }
}
