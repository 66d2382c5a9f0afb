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
import type { BoundSession, OwnerRecord, SandboxRecord } from '../../store/records.ts';
import { checkKey } from '../../store/refusals.ts';
import type {
  Activity,
  CounterRow,
  Move,
  NewSandbox,
  NewSession,
  SandboxPatch,
  SandboxQuery,
  Store,
} from '../../store/store.ts';
import { DEFAULT_LIMIT } from '../../store/store.ts';
import type { Connection } from './connection.ts';
import { addToCounter, selectCounters } from './tables/counters.ts';
import { deleteOldEvents, insertEvent, selectEvents } from './tables/events.ts';
import { deleteOwner, selectOwner, selectOwners, upsertOwner } from './tables/owners.ts';
import {
  countSandboxes,
  deleteOldSandboxes,
  insertSandbox,
  searchSandboxes,
  selectSandbox,
  updateSandbox,
} from './tables/sandboxes.ts';
import { deleteSession, insertSession, selectSession, selectSessions, updateSession } from './tables/sessions.ts';

export class SqliteStore implements Store {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async installation(): Promise<string> {
    const db = this.#connection;
    return db.run(() => String(db.statement('select id from installation').get()?.[0]));
  }

  async putOwner(owner: OwnerRecord): Promise<void> {
    const db = this.#connection;
    return db.run(() => upsertOwner(db, owner));
  }

  async getOwner(id: OwnerId): Promise<OwnerRecord | undefined> {
    const db = this.#connection;
    return db.run(() => selectOwner(db, id));
  }

  async listOwners(): Promise<readonly OwnerRecord[]> {
    const db = this.#connection;
    return db.run(() => selectOwners(db));
  }

  async removeOwner(id: OwnerId): Promise<void> {
    const db = this.#connection;
    return db.run(() => deleteOwner(db, id));
  }

  async insertSandbox(sandbox: NewSandbox): Promise<SandboxRecord> {
    const db = this.#connection;
    const record = newSandbox(sandbox);
    return db.transaction(() => {
      insertSandbox(db, record);
      insertEvent(db, creatingEvent(record));
      return record;
    });
  }

  async getSandbox(id: SandboxId): Promise<SandboxRecord | undefined> {
    const db = this.#connection;
    return db.run(() => selectSandbox(db, id));
  }

  async findSandboxes(query: SandboxQuery): Promise<readonly SandboxRecord[]> {
    const db = this.#connection;
    return db.run(() => searchSandboxes(db, query));
  }

  async countSandboxes(
    query: Pick<SandboxQuery, 'states' | 'provider' | 'ephemeral'>,
  ): Promise<Readonly<Record<SandboxKind, number>>> {
    const db = this.#connection;
    return db.run(() => countSandboxes(db, query));
  }

  async moveSandbox(id: SandboxId, move: Move): Promise<SandboxRecord | undefined> {
    const db = this.#connection;
    return db.transaction(() => {
      const before = selectSandbox(db, id);
      const after = before && movedSandbox(before, move);
      if (before === undefined || after === undefined) return undefined;
      updateSandbox(db, before, after);
      insertEvent(db, movedEvent(after, move));
      return after;
    });
  }

  async patchSandbox(id: SandboxId, patch: SandboxPatch, version?: number): Promise<SandboxRecord | undefined> {
    const db = this.#connection;
    return db.transaction(() => {
      const before = selectSandbox(db, id);
      const after = before && patchedSandbox(before, patch, version);
      if (before === undefined || after === undefined) return undefined;
      updateSandbox(db, before, after);
      return after;
    });
  }

  async touch(activities: readonly Activity[]): Promise<void> {
    const db = this.#connection;
    return db.transaction(() => {
      for (const activity of activities) {
        const before = selectSandbox(db, activity.sandboxId);
        const after = before && touchedSandbox(before, activity);
        if (before !== undefined && after !== undefined) updateSandbox(db, before, after);
      }
    });
  }

  async pruneSandboxes(before: number): Promise<number> {
    const db = this.#connection;
    return db.run(() => deleteOldSandboxes(db, before));
  }

  async getSession(key: SessionKey): Promise<BoundSession | undefined> {
    checkKey(key);
    const db = this.#connection;
    return db.run(() => selectSession(db, key));
  }

  async listSessions(limit: number = DEFAULT_LIMIT): Promise<readonly BoundSession[]> {
    const db = this.#connection;
    return db.run(() => selectSessions(db, limit));
  }

  async claimSession(
    session: NewSession,
    sandbox: NewSandbox,
  ): Promise<{ readonly won: boolean; readonly bound: BoundSession }> {
    checkKey(session.key);
    const db = this.#connection;
    return db.transaction(() => {
      const present = selectSession(db, session.key);
      if (present !== undefined) return { won: false, bound: present };
      const bound = newBinding(session, sandbox);
      insertSandbox(db, bound.sandbox);
      insertSession(db, bound.session);
      insertEvent(db, creatingEvent(bound.sandbox));
      insertEvent(db, boundEvent(bound));
      return { won: true, bound };
    });
  }

  async replaceSandbox(
    key: SessionKey,
    expected: SandboxId,
    sandbox: NewSandbox,
  ): Promise<{ readonly won: boolean; readonly bound: BoundSession | undefined }> {
    checkKey(key);
    const db = this.#connection;
    return db.transaction(() => {
      const present = selectSession(db, key);
      if (present?.session.sandboxId !== expected) return { won: false, bound: present };
      const bound = replacedBinding(present.session, sandbox);
      insertSandbox(db, bound.sandbox);
      updateSession(db, bound.session);
      insertEvent(db, creatingEvent(bound.sandbox));
      insertEvent(db, replacedEvent(bound, expected));
      return { won: true, bound };
    });
  }

  async tightenSession(
    key: SessionKey,
    level: NetworkLevel,
    reason: string,
    at: number,
  ): Promise<BoundSession | undefined> {
    checkKey(key);
    const db = this.#connection;
    return db.transaction(() => {
      const before = selectSession(db, key);
      const after = before && tightenedBinding(before, level, reason);
      if (before === undefined || after === undefined) return before;
      updateSession(db, after.session);
      if (after.sandbox !== before.sandbox) updateSandbox(db, before.sandbox, after.sandbox);
      insertEvent(db, tightenedEvent(before, after, reason, at));
      return after;
    });
  }

  async removeSession(key: SessionKey, sandboxId: SandboxId, cause: string, at: number): Promise<boolean> {
    checkKey(key);
    const db = this.#connection;
    return db.transaction(() => {
      const removed = deleteSession(db, key, sandboxId);
      if (removed) insertEvent(db, removedEvent(key, sandboxId, cause, at));
      return removed;
    });
  }

  async appendEvents(events: readonly NewEvent[]): Promise<void> {
    const db = this.#connection;
    return db.transaction(() => {
      for (const event of events) insertEvent(db, event);
    });
  }

  async listEvents(filter: EventFilter): Promise<readonly SubletEvent[]> {
    const db = this.#connection;
    return db.run(() => selectEvents(db, filter));
  }

  async pruneEvents(keepNewest: number): Promise<number> {
    const db = this.#connection;
    return db.run(() => deleteOldEvents(db, keepNewest));
  }

  async addToCounters(rows: readonly CounterRow[]): Promise<void> {
    const db = this.#connection;
    return db.transaction(() => {
      for (const row of rows) addToCounter(db, row);
    });
  }

  async counters(): Promise<readonly CounterRow[]> {
    const db = this.#connection;
    return db.run(() => selectCounters(db));
  }

  async close(): Promise<void> {
    this.#connection.close();
  }
}
