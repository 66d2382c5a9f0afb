/** The store on SQLite. Every method is one short transaction; a single statement is one by itself. */
import type { EventFilter, NewEvent, SubletEvent } from '../../core/events.ts';
import type { OwnerId, SandboxId } from '../../core/ids.ts';
import type { NetworkLevel } from '../../core/network.ts';
import type { SandboxKind, SessionKey } from '../../core/session-key.ts';
import {
  boundEvent,
  creatingEvent,
  movedEvent,
  movedSandbox,
  newBinding,
  newSandbox,
  patchedSandbox,
  removedEvent,
  replacedBinding,
  replacedEvent,
  tightenedBinding,
  tightenedEvent,
  touchedSandbox,
} from '../../store/changes.ts';
import type { BoundSession, OwnerRecord, SandboxRecord, SessionRecord } from '../../store/records.ts';
import { checkKey } from '../../store/refusals.ts';
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
import type { Connection } from './connection.ts';
import { keepSnapshot } from './keep-snapshot.ts';
import { SessionCache } from './session-cache.ts';
import { changeSandbox, sqliteLeases } from './sqlite-leases.ts';
import { sqliteLedger } from './sqlite-ledger.ts';
import { sqlitePools } from './sqlite-pools.ts';
import { addToCounter, selectCounters } from './tables/counters.ts';
import { deleteOldEvents, insertEvent, selectEvents } from './tables/events.ts';
import { deleteOwner, selectOwner, selectOwners, updateHeartbeat, upsertOwner } from './tables/owners.ts';
import { insertPlacement } from './tables/ledger.ts';
import {
  countSandboxes,
  deleteOldSandboxes,
  insertSandbox,
  searchSandboxes,
  selectSandbox,
  updateSandbox,
} from './tables/sandboxes.ts';
import {
  deleteSession,
  insertSession,
  selectEndedSessions,
  selectSession,
  selectSessions,
  updateSession,
} from './tables/sessions.ts';

const PRUNE_BATCH = 500;

export class SqliteStore implements Store {
  readonly leases: Store['leases'];
  readonly ledger: Store['ledger'];
  readonly pools: Store['pools'];
  readonly #connection: Connection;
  readonly #sessions: SessionCache;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#sessions = new SessionCache(connection);
    this.leases = sqliteLeases(connection, this.#sessions);
    this.ledger = sqliteLedger(connection);
    this.pools = sqlitePools(connection, this.#sessions, (row) => this.#insert(row));
  }

  installation(): Promise<string> {
    const db = this.#connection;
    return db.run(() => String(db.statement('select id from installation').get()?.[0]));
  }

  putOwner(owner: OwnerRecord): Promise<void> {
    const db = this.#connection;
    return db.run(() => upsertOwner(db, owner));
  }

  getOwner(id: OwnerId): Promise<OwnerRecord | undefined> {
    const db = this.#connection;
    return db.run(() => selectOwner(db, id));
  }

  listOwners(): Promise<readonly OwnerRecord[]> {
    const db = this.#connection;
    return db.run(() => selectOwners(db));
  }

  heartbeat(id: OwnerId, at: number): Promise<boolean> {
    const db = this.#connection;
    return db.run(() => updateHeartbeat(db, id, at));
  }

  removeOwner(id: OwnerId, heartbeatAt?: number): Promise<boolean> {
    const db = this.#connection;
    return db.run(() => deleteOwner(db, id, heartbeatAt));
  }

  insertSandbox(sandbox: NewSandbox): Promise<SandboxRecord> {
    const record = newSandbox(sandbox);
    const insert = (): SandboxRecord => {
      this.#insert(record);
      return record;
    };
    return this.#connection.transaction(insert, (_, writes) => this.#sessions.changed(writes, []));
  }

  getSandbox(id: SandboxId): Promise<SandboxRecord | undefined> {
    const db = this.#connection;
    return db.run(() => selectSandbox(db, id));
  }

  findSandboxes(query: SandboxQuery): Promise<readonly SandboxRecord[]> {
    const db = this.#connection;
    return db.run(() => searchSandboxes(db, query));
  }

  countSandboxes(
    query: Pick<SandboxQuery, 'states' | 'provider' | 'ephemeral'>,
  ): Promise<Readonly<Record<SandboxKind, number>>> {
    const db = this.#connection;
    return db.run(() => countSandboxes(db, query));
  }

  moveSandbox(id: SandboxId, move: Move): Promise<SandboxRecord | undefined> {
    return changeSandbox(
      this.#connection,
      this.#sessions,
      id,
      (before) => movedSandbox(before, move),
      (_before, after) => [movedEvent(after, move)],
    );
  }

  patchSandbox(id: SandboxId, patch: SandboxPatch, version?: number): Promise<SandboxRecord | undefined> {
    return changeSandbox(
      this.#connection,
      this.#sessions,
      id,
      (before) => patchedSandbox(before, patch, version),
      () => [],
    );
  }

  async touch(activities: readonly Activity[]): Promise<void> {
    const db = this.#connection;
    const touchOne = (activity: Activity): SandboxRecord | undefined => {
      const before = selectSandbox(db, activity.sandboxId);
      const after = before && touchedSandbox(before, activity);
      if (before !== undefined && after !== undefined) updateSandbox(db, before, after);
      return after;
    };
    const touchAll = (): readonly (SandboxRecord | undefined)[] => activities.map(touchOne);
    await db.transaction(touchAll, (touched, writes) => this.#sessions.changed(writes, touched));
  }

  pruneSandboxes(before: number): Promise<number> {
    const db = this.#connection;
    return this.#inBatches((limit) => deleteOldSandboxes(db, before, limit));
  }

  getSession(key: SessionKey): Promise<BoundSession | undefined> {
    const db = this.#connection;
    return db.run(() => {
      checkKey(key);
      return this.#sessions.get(key);
    });
  }

  listSessions(limit: number = DEFAULT_LIMIT, family?: SessionKey): Promise<readonly BoundSession[]> {
    const db = this.#connection;
    return db.run(() => selectSessions(db, limit, family));
  }

  endedSessions(before: number, limit: number = DEFAULT_LIMIT): Promise<readonly BoundSession[]> {
    const db = this.#connection;
    return db.run(() => selectEndedSessions(db, before, limit));
  }

  claimSession(session: NewSession, sandbox: NewSandbox): Promise<Claimed> {
    const db = this.#connection;
    const claim = (): Claimed => {
      checkKey(session.key);
      const present = selectSession(db, session.key);
      if (present !== undefined) return { won: false, bound: present };
      const bound = newBinding(session, sandbox);
      this.#insert(bound.sandbox);
      insertSession(db, bound.session);
      insertEvent(db, boundEvent(bound));
      return { won: true, bound };
    };
    return db.transaction(claim, ({ bound }, writes) => this.#sessions.bound(writes, bound));
  }

  replaceSandbox(key: SessionKey, expected: SandboxId, sandbox: NewSandbox): Promise<Replaced> {
    const db = this.#connection;
    return db.transaction(() => {
      checkKey(key);
      const present = selectSession(db, key);
      if (present?.session.sandboxId !== expected) return { won: false, bound: present };
      const bound = replacedBinding(present.session, sandbox);
      this.#insert(bound.sandbox);
      updateSession(db, bound.session);
      insertEvent(db, replacedEvent(bound, expected));
      return { won: true, bound };
    });
  }

  tightenSession(key: SessionKey, level: NetworkLevel, reason: string, at: number): Promise<BoundSession | undefined> {
    const db = this.#connection;
    // A level that was told to the user must not be looser again after a loss of power.
    return db.durably(() => {
      checkKey(key);
      const before = selectSession(db, key);
      const after = before && tightenedBinding(before, level, reason);
      if (before === undefined || after === undefined) return before;
      updateSession(db, after.session);
      if (after.sandbox !== before.sandbox) updateSandbox(db, before.sandbox, after.sandbox);
      insertEvent(db, tightenedEvent(before, after, reason, at));
      return after;
    });
  }

  keepSnapshot(key: SessionKey, taken: TakenSnapshot): Promise<SessionRecord | undefined> {
    return keepSnapshot(this.#connection, key, taken);
  }

  removeSession(key: SessionKey, sandboxId: SandboxId, cause: string, at: number): Promise<boolean> {
    const db = this.#connection;
    return db.transaction(() => {
      checkKey(key);
      const removed = deleteSession(db, key, sandboxId);
      if (removed) insertEvent(db, removedEvent(key, sandboxId, cause, at));
      return removed;
    });
  }

  appendEvents(events: readonly NewEvent[]): Promise<void> {
    const db = this.#connection;
    return db.transaction(() => {
      for (const event of events) insertEvent(db, event);
    });
  }

  listEvents(filter: EventFilter): Promise<readonly SubletEvent[]> {
    const db = this.#connection;
    return db.run(() => selectEvents(db, filter));
  }

  pruneEvents(keepNewest: number): Promise<number> {
    const db = this.#connection;
    return this.#inBatches((limit) => deleteOldEvents(db, keepNewest, limit));
  }

  addToCounters(rows: readonly CounterRow[]): Promise<void> {
    const db = this.#connection;
    return db.transaction(() => {
      for (const row of rows) addToCounter(db, row);
    });
  }

  counters(): Promise<readonly CounterRow[]> {
    const db = this.#connection;
    return db.run(() => selectCounters(db));
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #insert(sandbox: SandboxRecord): void {
    const db = this.#connection;
    insertSandbox(db, sandbox);
    insertPlacement(db, sandbox);
    insertEvent(db, creatingEvent(sandbox));
  }

  // A backlog must hold neither the lock nor this thread for long.
  async #inBatches(deleteSome: (limit: number) => number): Promise<number> {
    for (let total = 0; ; await new Promise((resolve) => setImmediate(resolve))) {
      const deleted = await this.#connection.run(() => deleteSome(PRUNE_BATCH));
      total += deleted;
      if (deleted < PRUNE_BATCH) return total;
    }
  }
}
