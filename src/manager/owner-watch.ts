/** Who else lives: heartbeats seen by this process, and what the kernel says of its neighbours. */
import type { OwnerId } from '../core/ids.ts';
import { NOBODY } from '../core/ids.ts';
import type { Liveness } from '../core/liveness.ts';
import { HEARTBEAT_MS, isSamePlace, judgeLife } from '../core/liveness.ts';
import type { OwnerFact } from '../core/recovery.ts';
import type { OwnerRecord } from '../store/records.ts';
import type { ManagerPorts } from './ports.ts';

interface Beat {
  readonly heartbeatAt: number;
  /** For how long it has stood still under our eyes. */
  readonly silentMs: number;
  /** When we last looked, by a clock that nobody sets. */
  readonly lookedAt: number;
}

// However long this process itself stood still, it was not watching for longer than this.
const LONGEST_LOOK_MS = 6 * HEARTBEAT_MS;

/** A judgement of every owner on record at one instant. */
export class OwnerCensus {
  readonly #facts: ReadonlyMap<OwnerId, OwnerFact>;
  /** Those that are dead, with the heartbeat by which they were judged. */
  readonly dead: readonly OwnerRecord[];

  constructor(facts: ReadonlyMap<OwnerId, OwnerFact>, dead: readonly OwnerRecord[]) {
    this.#facts = facts;
    this.dead = dead;
  }

  of(ownerId: OwnerId): OwnerFact {
    return ownerId === NOBODY ? 'nobody' : (this.#facts.get(ownerId) ?? 'none');
  }

  /** Others that live or may live: what they have is not touched. */
  get untouchable(): readonly OwnerId[] {
    return [...this.#facts].filter(([, fact]) => fact === 'alive' || fact === 'unknown').map(([id]) => id);
  }
}

export class OwnerWatch {
  readonly #ports: ManagerPorts;
  readonly #self: OwnerId;
  #beats = new Map<OwnerId, Beat>();

  constructor(ports: ManagerPorts, self: OwnerId) {
    this.#ports = ports;
    this.#self = self;
  }

  async census(): Promise<OwnerCensus> {
    const owners = await this.#ports.store.listOwners();
    const seen = this.#see(owners);
    const facts = new Map<OwnerId, OwnerFact>();
    const judged = await Promise.all(owners.map((owner) => this.#judge(owner, seen)));
    for (const [index, owner] of owners.entries()) facts.set(owner.id, judged[index] ?? 'unknown');
    return new OwnerCensus(
      facts,
      owners.filter((_, index) => judged[index] === 'dead'),
    );
  }

  /**
   * A census that is right about these owners of things that were read after `earlier`. Who is not in that one may have come
   * since: an owner is on record before anything that it has.
   */
  async censusOf(ownerIds: readonly OwnerId[], earlier: OwnerCensus): Promise<OwnerCensus> {
    return ownerIds.every((id) => earlier.of(id) !== 'none') ? earlier : this.census();
  }

  /** One owner, by the same rules; an owner without a record is `none`. */
  async judge(ownerId: OwnerId): Promise<Exclude<OwnerFact, 'nobody'>> {
    if (ownerId === this.#self) return 'self';
    const owner = await this.#ports.store.getOwner(ownerId);
    return owner === undefined ? 'none' : this.#judge(owner, this.#beats);
  }

  async #judge(owner: OwnerRecord, seen: ReadonlyMap<OwnerId, Beat>): Promise<'self' | Liveness> {
    const ports = this.#ports;
    if (owner.id === this.#self) return 'self';
    const isHere = isSamePlace(owner, ports.identity);
    const beat = seen.get(owner.id);
    const silentMs = beat?.heartbeatAt === owner.heartbeatAt ? beat.silentMs : 0;
    return judgeLife(owner, ports.identity, { isRunning: isHere ? await ports.isRunning(owner) : undefined, silentMs });
  }

  #see(owners: readonly OwnerRecord[]): ReadonlyMap<OwnerId, Beat> {
    const now = this.#ports.clock.elapsed();
    this.#beats = new Map(
      owners.map(({ id, heartbeatAt }) => {
        const before = this.#beats.get(id);
        const isStill = before?.heartbeatAt === heartbeatAt;
        const silentMs = isStill ? before.silentMs + Math.min(now - before.lookedAt, LONGEST_LOOK_MS) : 0;
        return [id, { heartbeatAt, silentMs, lookedAt: now }];
      }),
    );
    return this.#beats;
  }
}
