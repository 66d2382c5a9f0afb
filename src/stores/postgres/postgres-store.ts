/** The store on Postgres. Every change is one short transaction that locks the rows it decides about. */
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
  snapshotEvent,
  snapshottedSession,
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
import type { Connections } from './connections.ts';
import type { Db } from './driver.ts';
import { changeSandbox, postgresLeases } from './postgres-leases.ts';
import { postgresLedger } from './postgres-ledger.ts';
import { postgresPools } from './postgres-pools.ts';
import { addToCounters, selectCounters } from './tables/counters.ts';
import { deleteOldEvents, insertEvents, selectEvents } from './tables/events.ts';
import { deleteOldMarks } from './tables/commits.ts';
import { insertPlacement } from './tables/ledger.ts';
import { deleteOwner, selectOwner, selectOwners, updateHeartbeat, upsertOwner } from './tables/owners.ts';
import {
  countSandboxes,
  deleteOldSandboxes,
  insertSandbox,
  lockSandbox,
  lockSandboxes,
  searchSandboxes,
  selectSandbox,
  updateActivity,
  updateSandbox,
} from './tables/sandboxes.ts';
import {
  deleteSession,
  insertSession,
  lockSession,
  selectSession,
  selectEndedSessions,
  selectSessions,
  updateSession,
} from './tables/sessions.ts';

const PRUNE_BATCH = 500;

export class PostgresStore implements Store {
  readonly leases: Store['leases'];
  readonly ledger: Store['ledger'];
  readonly pools: Store['pools'];
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
    this.leases = postgresLeases(connections);
    this.ledger = postgresLedger(connections);
    this.pools = postgresPools(connections);
  }

  installation(): Promise<string> {
    return this.#connections.read(async (db) => String((await db.rows('select id from sublet.installation'))[0]?.[0]));
  }

  putOwner(owner: OwnerRecord): Promise<void> {
    return this.#connections.transaction((db) => upsertOwner(db, owner));
  }

  getOwner(id: OwnerId): Promise<OwnerRecord | undefined> {
    return this.#connections.read((db) => selectOwner(db, id));
  }

  listOwners(): Promise<readonly OwnerRecord[]> {
    return this.#connections.read((db) => selectOwners(db));
  }

  heartbeat(id: OwnerId, at: number): Promise<boolean> {
    return this.#connections.transaction((db) => updateHeartbeat(db, id, at));
  }

  removeOwner(id: OwnerId, heartbeatAt?: number): Promise<boolean> {
    return this.#connections.transaction((db) => deleteOwner(db, id, heartbeatAt));
  }

  insertSandbox(sandbox: NewSandbox): Promise<SandboxRecord> {
    return this.#connections.transaction(async (db) => {
      const record = newSandbox(sandbox);
      await insertPlaced(db, record);
      await insertEvents(db, [creatingEvent(record)]);
      return record;
    });
  }

  getSandbox(id: SandboxId): Promise<SandboxRecord | undefined> {
    return this.#connections.read((db) => selectSandbox(db, id));
  }

  findSandboxes(query: SandboxQuery): Promise<readonly SandboxRecord[]> {
    return this.#connections.read((db) => searchSandboxes(db, query));
  }

  countSandboxes(
    query: Pick<SandboxQuery, 'states' | 'provider' | 'ephemeral'>,
  ): Promise<Readonly<Record<SandboxKind, number>>> {
    return this.#connections.read((db) => countSandboxes(db, query));
  }

  moveSandbox(id: SandboxId, move: Move): Promise<SandboxRecord | undefined> {
    return changeSandbox(
      this.#connections,
      id,
      (before) => movedSandbox(before, move),
      (_before, after) => [movedEvent(after, move)],
    );
  }

  patchSandbox(id: SandboxId, patch: SandboxPatch, version?: number): Promise<SandboxRecord | undefined> {
    return changeSandbox(
      this.#connections,
      id,
      (before) => patchedSandbox(before, patch, version),
      () => [],
    );
  }

  touch(activities: readonly Activity[]): Promise<void> {
    return this.#connections.transaction(async (db) => {
      const present = await lockSandboxes(
        db,
        activities.map(({ sandboxId }) => sandboxId),
      );
      const rows = new Map(present.map((sandbox) => [sandbox.id, sandbox]));
      const touched = new Map<SandboxId, SandboxRecord>();
      for (const activity of activities) {
        const before = touched.get(activity.sandboxId) ?? rows.get(activity.sandboxId);
        const after = before && touchedSandbox(before, activity);
        if (after !== undefined) touched.set(after.id, after);
      }
      if (touched.size > 0) await updateActivity(db, [...touched.values()]);
    });
  }

  pruneSandboxes(before: number): Promise<number> {
    return this.#inBatches((db, limit) => deleteOldSandboxes(db, before, limit));
  }

  getSession(key: SessionKey): Promise<BoundSession | undefined> {
    return this.#connections.read(async (db) => {
      checkKey(key);
      return selectSession(db, key);
    });
  }

  listSessions(limit: number = DEFAULT_LIMIT, family?: SessionKey): Promise<readonly BoundSession[]> {
    return this.#connections.read((db) => selectSessions(db, limit, family));
  }

  endedSessions(before: number, limit: number = DEFAULT_LIMIT): Promise<readonly BoundSession[]> {
    return this.#connections.read((db) => selectEndedSessions(db, before, limit));
  }

  async claimSession(session: NewSession, sandbox: NewSandbox): Promise<Claimed> {
    // Again when the binding that was in the way has been removed before it could be read.
    for (;;) {
      const present = await this.getSession(session.key);
      if (present !== undefined) return { won: false, bound: present };
      const bound = await this.#connections.transaction((db) => bind(db, newBinding(session, sandbox)));
      if (bound !== undefined) return { won: true, bound };
    }
  }

  replaceSandbox(key: SessionKey, expected: SandboxId, sandbox: NewSandbox): Promise<Replaced> {
    return this.#connections.transaction(async (db) => {
      checkKey(key);
      const session = await lockSession(db, key);
      if (session?.sandboxId !== expected) return { won: false, bound: await selectSession(db, key) };
      const bound = replacedBinding(session, sandbox);
      await insertPlaced(db, bound.sandbox);
      await updateSession(db, bound.session);
      await insertEvents(db, [creatingEvent(bound.sandbox), replacedEvent(bound, expected)]);
      return { won: true, bound };
    });
  }

  tightenSession(key: SessionKey, level: NetworkLevel, reason: string, at: number): Promise<BoundSession | undefined> {
    return this.#connections.transaction(async (db) => {
      checkKey(key);
      const session = await lockSession(db, key);
      const sandbox = session && (await lockSandbox(db, session.sandboxId));
      if (session === undefined || sandbox === undefined) return undefined;
      const before = { session, sandbox };
      const after = tightenedBinding(before, level, reason);
      if (after === undefined) return before;
      await updateSession(db, after.session);
      if (after.sandbox !== before.sandbox) await updateSandbox(db, before.sandbox, after.sandbox);
      await insertEvents(db, [tightenedEvent(before, after, reason, at)]);
      return after;
    });
  }

  keepSnapshot(key: SessionKey, taken: TakenSnapshot): Promise<SessionRecord | undefined> {
    return this.#connections.transaction(async (db) => {
      checkKey(key);
      const before = await lockSession(db, key);
      const after = before && snapshottedSession(before, taken);
      if (after === undefined) return undefined;
      await updateSession(db, after);
      await insertEvents(db, [snapshotEvent(after, taken)]);
      return after;
    });
  }

  removeSession(key: SessionKey, sandboxId: SandboxId, cause: string, at: number): Promise<boolean> {
    return this.#connections.transaction(async (db) => {
      checkKey(key);
      const removed = await deleteSession(db, key, sandboxId);
      if (removed) await insertEvents(db, [removedEvent(key, sandboxId, cause, at)]);
      return removed;
    });
  }

  appendEvents(events: readonly NewEvent[]): Promise<void> {
    return this.#connections.transaction((db) => insertEvents(db, events));
  }

  listEvents(filter: EventFilter): Promise<readonly SubletEvent[]> {
    return this.#connections.read((db) => selectEvents(db, filter));
  }

  async pruneEvents(keepNewest: number): Promise<number> {
    await this.#inBatches(deleteOldMarks);
    return this.#inBatches((db, limit) => deleteOldEvents(db, keepNewest, limit));
  }

  addToCounters(rows: readonly CounterRow[]): Promise<void> {
    return this.#connections.transaction((db) => addToCounters(db, rows));
  }

  counters(): Promise<readonly CounterRow[]> {
    return this.#connections.read((db) => selectCounters(db));
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  // A backlog must not hold locks for long.
  async #inBatches(deleteSome: (db: Db, limit: number) => Promise<number>): Promise<number> {
    for (let total = 0; ;) {
      const deleted = await this.#connections.transaction((db) => deleteSome(db, PRUNE_BATCH));
      total += deleted;
      if (deleted < PRUNE_BATCH) return total;
    }
  }
}

/** Undefined when another transaction has bound the key. The session comes first: whoever loses has inserted nothing. */
async function bind(db: Db, bound: BoundSession): Promise<BoundSession | undefined> {
  if (!(await insertSession(db, bound.session))) return undefined;
  await insertPlaced(db, bound.sandbox);
  await insertEvents(db, [creatingEvent(bound.sandbox), boundEvent(bound)]);
  return bound;
}

async function insertPlaced(db: Db, sandbox: SandboxRecord): Promise<void> {
  await insertSandbox(db, sandbox);
  await insertPlacement(db, sandbox);
}
