/** The store in plain maps: the contract's semantics without a disk, for tests. */
import type { EventFilter, NewEvent, SubletEvent } from '../../core/events.ts';
import type { OwnerId, SandboxId } from '../../core/ids.ts';
import type { NetworkLevel } from '../../core/network.ts';
import type { SandboxKind, SessionKey } from '../../core/session-key.ts';
import {
  boundEvent,
  creatingEvent,
  hasEnded,
  movedEvent,
  movedSandbox,
  newBinding,
  newSandbox,
  patchedSandbox,
  removedEvent,
  replacedBinding,
  replacedEvent,
  snapshotEvent,
  snapshottedSession,
  tightenedBinding,
  tightenedEvent,
  touchedSandbox,
} from '../../store/changes.ts';
import type { BoundSession, OwnerRecord, SandboxRecord, SessionRecord } from '../../store/records.ts';
import { checkKey, duplicateSandbox, storeClosed } from '../../store/refusals.ts';
import type {
  Activity,
  Claimed,
  CounterRow,
  Move,
  NewSandbox,
  NewSession,
  Replaced,
  SandboxPatch,
  SandboxQuery,
  Store,
  TakenSnapshot,
} from '../../store/store.ts';
import { DEFAULT_LIMIT } from '../../store/store.ts';
import { frozen } from './frozen.ts';
import { memoryLeases } from './memory-leases.ts';
import { memoryLedger } from './memory-ledger.ts';
import type { MemoryRows } from './memory-pools.ts';
import { memoryPools } from './memory-pools.ts';
import type { Tables } from './tables.ts';
import { emptyTables } from './tables.ts';
import { countByKind, inOrder, isAsked, matches, newestFirst, sessionsOf } from './select.ts';

export function createMemoryStore(): MemoryStore {
  return new MemoryStore(emptyTables());
}

export class MemoryStore implements Store {
  readonly leases: Store['leases'];
  readonly ledger: Store['ledger'];
  readonly pools: Store['pools'];
  readonly #tables: Tables;
  #closed = false;

  constructor(tables: Tables) {
    this.#tables = tables;
    const rows: MemoryRows = {
      open: () => this.#open(),
      insert: (sandbox) => this.#insert(sandbox),
      change: (id, change, events) => this.#change(id, change, events),
    };
    this.leases = memoryLeases(rows);
    this.ledger = memoryLedger(rows.open);
    this.pools = memoryPools(rows);
  }

  /** Another handle on the same rows, as a second process would have. Closing one leaves the other open. */
  openAgain(): MemoryStore {
    return new MemoryStore(this.#tables);
  }

  async installation(): Promise<string> {
    return this.#open().installation;
  }

  async putOwner(owner: OwnerRecord): Promise<void> {
    this.#open().owners.set(owner.id, frozen(owner));
  }

  async getOwner(id: OwnerId): Promise<OwnerRecord | undefined> {
    return this.#open().owners.get(id);
  }

  async listOwners(): Promise<readonly OwnerRecord[]> {
    return [...this.#open().owners.values()];
  }

  async heartbeat(id: OwnerId, at: number): Promise<boolean> {
    const owner = this.#open().owners.get(id);
    if (owner !== undefined) this.#tables.owners.set(id, frozen({ ...owner, heartbeatAt: at }));
    return owner !== undefined;
  }

  async removeOwner(id: OwnerId, heartbeatAt?: number): Promise<boolean> {
    const owner = this.#open().owners.get(id);
    return heartbeatAt !== undefined && owner?.heartbeatAt !== heartbeatAt ? false : this.#tables.owners.delete(id);
  }

  async insertSandbox(sandbox: NewSandbox): Promise<SandboxRecord> {
    return this.#insert(newSandbox(sandbox));
  }

  async getSandbox(id: SandboxId): Promise<SandboxRecord | undefined> {
    return this.#open().sandboxes.get(id);
  }

  async findSandboxes(query: SandboxQuery): Promise<readonly SandboxRecord[]> {
    return [...this.#open().sandboxes.values()]
      .filter((sandbox) => matches(sandbox, query))
      .toSorted(inOrder(query))
      .slice(0, query.limit ?? DEFAULT_LIMIT);
  }

  async countSandboxes(query: SandboxQuery): Promise<Readonly<Record<SandboxKind, number>>> {
    return countByKind([...this.#open().sandboxes.values()].filter((sandbox) => matches(sandbox, query)));
  }

  async moveSandbox(id: SandboxId, move: Move): Promise<SandboxRecord | undefined> {
    return this.#change(
      id,
      (before) => movedSandbox(before, move),
      (_before, after) => [movedEvent(after, move)],
    );
  }

  async patchSandbox(id: SandboxId, patch: SandboxPatch, version?: number): Promise<SandboxRecord | undefined> {
    return this.#change(
      id,
      (before) => patchedSandbox(before, patch, version),
      () => [],
    );
  }

  async touch(activities: readonly Activity[]): Promise<void> {
    const { sandboxes } = this.#open();
    for (const activity of activities) {
      const before = sandboxes.get(activity.sandboxId);
      const after = before && touchedSandbox(before, activity);
      if (after !== undefined) this.#keep(after);
    }
  }

  async pruneSandboxes(before: number): Promise<number> {
    const { sandboxes, sessions } = this.#open();
    const bound = new Set([...sessions.values()].map((session) => session.sandboxId));
    const old = [...sandboxes.values()].filter((sandbox) => hasEnded(sandbox, before) && !bound.has(sandbox.id));
    return old.filter(({ id }) => sandboxes.delete(id)).length;
  }

  async getSession(key: SessionKey): Promise<BoundSession | undefined> {
    checkKey(key);
    return this.#bound(this.#open().sessions.get(key));
  }

  async listSessions(limit: number = DEFAULT_LIMIT, family?: SessionKey): Promise<readonly BoundSession[]> {
    const listed = sessionsOf(this.#open().sessions, family).toSorted(newestFirst).slice(0, limit);
    return listed.flatMap((session) => this.#bound(session) ?? []);
  }

  async endedSessions(before: number, limit: number = DEFAULT_LIMIT): Promise<readonly BoundSession[]> {
    return (await this.listSessions(Infinity)).filter(({ sandbox }) => hasEnded(sandbox, before)).slice(0, limit);
  }

  async claimSession(session: NewSession, sandbox: NewSandbox): Promise<Claimed> {
    checkKey(session.key);
    const present = this.#bound(this.#open().sessions.get(session.key));
    if (present !== undefined) return { won: false, bound: present };
    const bound = newBinding(session, sandbox);
    return { won: true, bound: this.#bind(bound, boundEvent(bound)) };
  }

  async replaceSandbox(key: SessionKey, expected: SandboxId, sandbox: NewSandbox): Promise<Replaced> {
    checkKey(key);
    const session = this.#open().sessions.get(key);
    if (session?.sandboxId !== expected) return { won: false, bound: this.#bound(session) };
    const bound = replacedBinding(session, sandbox);
    return { won: true, bound: this.#bind(bound, replacedEvent(bound, expected)) };
  }

  async tightenSession(
    key: SessionKey,
    level: NetworkLevel,
    reason: string,
    at: number,
  ): Promise<BoundSession | undefined> {
    checkKey(key);
    const before = this.#bound(this.#open().sessions.get(key));
    const after = before && tightenedBinding(before, level, reason);
    if (before === undefined || after === undefined) return before;
    this.#append(tightenedEvent(before, after, reason, at));
    return { session: this.#keepSession(after.session), sandbox: this.#keep(after.sandbox) };
  }

  async keepSnapshot(key: SessionKey, taken: TakenSnapshot): Promise<SessionRecord | undefined> {
    checkKey(key);
    const before = this.#open().sessions.get(key);
    const after = before && snapshottedSession(before, taken);
    if (after === undefined) return undefined;
    this.#append(snapshotEvent(after, taken));
    return this.#keepSession(after);
  }

  async removeSession(key: SessionKey, sandboxId: SandboxId, cause: string, at: number): Promise<boolean> {
    checkKey(key);
    if (this.#open().sessions.get(key)?.sandboxId !== sandboxId) return false;
    this.#tables.sessions.delete(key);
    this.#append(removedEvent(key, sandboxId, cause, at));
    return true;
  }

  async appendEvents(events: readonly NewEvent[]): Promise<void> {
    this.#open();
    for (const event of events) this.#append(event);
  }

  async listEvents(filter: EventFilter): Promise<readonly SubletEvent[]> {
    const events = this.#open().events.filter((event) => isAsked(event, filter));
    return (filter.descending === true ? events.toReversed() : events).slice(0, filter.limit ?? DEFAULT_LIMIT);
  }

  async pruneEvents(keepNewest: number): Promise<number> {
    const { events } = this.#open();
    return events.splice(0, Math.max(0, events.length - keepNewest)).length;
  }

  async addToCounters(rows: readonly CounterRow[]): Promise<void> {
    const { counters } = this.#open();
    for (const row of rows) {
      const name = `${row.kind} ${row.name}`;
      counters.set(name, frozen({ ...row, value: row.value + (counters.get(name)?.value ?? 0) }));
    }
  }

  async counters(): Promise<readonly CounterRow[]> {
    return [...this.#open().counters.values()];
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #open(): Tables {
    if (this.#closed) throw storeClosed();
    return this.#tables;
  }

  #insert(sandbox: SandboxRecord): SandboxRecord {
    if (this.#open().sandboxes.has(sandbox.id)) throw duplicateSandbox(sandbox.id);
    this.#append(creatingEvent(sandbox));
    const { provider, profile } = sandbox;
    this.#tables.placements.set(`${provider} ${profile}`, frozen({ provider, profile }));
    return this.#keep(sandbox);
  }

  #change(
    id: SandboxId,
    change: (before: SandboxRecord) => SandboxRecord | undefined,
    events: (before: SandboxRecord, after: SandboxRecord) => readonly NewEvent[],
  ): SandboxRecord | undefined {
    const before = this.#open().sandboxes.get(id);
    const after = before && change(before);
    if (before === undefined || after === undefined) return undefined;
    for (const event of events(before, after)) this.#append(event);
    return this.#keep(after);
  }

  #bind(bound: BoundSession, event: NewEvent): BoundSession {
    const sandbox = this.#insert(bound.sandbox);
    this.#append(event);
    return { session: this.#keepSession(bound.session), sandbox };
  }

  #bound(session: SessionRecord | undefined): BoundSession | undefined {
    const sandbox = session && this.#tables.sandboxes.get(session.sandboxId);
    return session && sandbox && { session, sandbox };
  }

  #keep(sandbox: SandboxRecord): SandboxRecord {
    const kept = frozen(sandbox);
    this.#tables.sandboxes.set(kept.id, kept);
    return kept;
  }

  #keepSession(session: SessionRecord): SessionRecord {
    const kept = frozen(session);
    this.#tables.sessions.set(kept.key, kept);
    return kept;
  }

  #append(event: NewEvent): void {
    this.#tables.lastSeq += 1;
    this.#tables.events.push(frozen({ ...event, seq: this.#tables.lastSeq }));
  }
}
