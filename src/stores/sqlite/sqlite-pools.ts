/** Pools on SQLite. */
import type { SandboxId } from '../../core/ids.ts';
import { leasedEvents, newSandbox } from '../../store/changes.ts';
import {
  IDLE_STATES,
  chosen,
  isTakeable,
  returnedEvent,
  returnedSandbox,
  takenSandbox,
  toPoolCounts,
} from '../../store/pool-changes.ts';
import type { PoolRows, PoolScope, TakeWish } from '../../store/pools.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Connection } from './connection.ts';
import type { SessionCache } from './session-cache.ts';
import { changeSandbox } from './sqlite-leases.ts';
import { insertEvent } from './tables/events.ts';
import { selectOwner } from './tables/owners.ts';
import {
  addToTally,
  countAhead,
  countPool,
  countWaiting,
  deleteKeeper,
  deleteOldTickets,
  deleteTicket,
  insertTicket,
  renewTickets,
  selectIdle,
  selectKeepers,
  selectPools,
  selectTallies,
  upsertKeeper,
} from './tables/pools.ts';
import { selectSandbox, updateSandbox } from './tables/sandboxes.ts';

/** Among so many of the oldest one of the taker's own is looked for. */
const NEARBY = 32;

export function sqlitePools(
  db: Connection,
  sessions: SessionCache,
  insert: (sandbox: SandboxRecord) => void,
): PoolRows {
  const totalOf = (scope: PoolScope): number => countPool(db, scope).reduce((total, { count }) => total + count, 0);

  const take = (wish: TakeWish): SandboxRecord | undefined => {
    const before = pick(db, wish);
    const after = before && takenSandbox(before, wish);
    if (before === undefined || after === undefined) return undefined;
    updateSandbox(db, before, after);
    if (wish.ticket !== undefined) deleteTicket(db, wish.ticket);
    for (const event of leasedEvents(before, after, wish.at)) insertEvent(db, event);
    return after;
  };

  return {
    admit: (sandbox, scope, maxTotal) =>
      db.transaction(
        () => {
          if (totalOf(scope) >= maxTotal) return undefined;
          const record = newSandbox(sandbox);
          insert(record);
          return record;
        },
        (_, writesBefore) => sessions.changed(writesBefore, []),
      ),
    take: (wish) =>
      db.transaction(
        () => take(wish),
        (_, writesBefore) => sessions.changed(writesBefore, []),
      ),
    giveBack: (id: SandboxId, token, cause, at) =>
      changeSandbox(
        db,
        sessions,
        id,
        (before) => returnedSandbox(before, token, at),
        (before) => [returnedEvent(before, token, cause, at)],
      ),
    counts: (scope, at) => db.run(() => toPoolCounts(countPool(db, scope), countWaiting(db, scope, at))),
    names: () => db.run(() => selectPools(db)),
    queue: (ticket) =>
      db.transaction(() => {
        deleteOldTickets(db, ticket.pool, ticket.at);
        return insertTicket(db, ticket);
      }),
    stay: (ownerId, at) => db.run(() => renewTickets(db, ownerId, at)),
    unqueue: (ticket) => db.run(() => deleteTicket(db, ticket)),
    keep: (pool, lane, ownerId) => db.transaction(() => upsertKeeper(db, pool, lane, ownerId)),
    unkeep: (pool, ownerId) => db.run(() => deleteKeeper(db, pool, ownerId)),
    keepers: (pool) =>
      db.run(() =>
        selectKeepers(db, pool).flatMap(({ lane, ownerId }) => {
          const owner = selectOwner(db, ownerId);
          return owner === undefined ? [] : [{ lane, owner }];
        }),
      ),
    addToTallies: (rows) =>
      db.transaction(() => {
        for (const row of rows) addToTally(db, row);
      }),
    tallies: (pool) => db.run(() => selectTallies(db, pool)),
  };
}

/** The sandbox that the wish gets. Rows are read one by one, because one is all that is needed most of the time. */
function pick(db: Connection, wish: TakeWish): SandboxRecord | undefined {
  const ahead = countAhead(db, wish);
  const earlier: SandboxRecord[] = [];
  for (const state of IDLE_STATES) {
    const rows = selectIdle(db, wish, state, ahead + NEARBY);
    const own = rows.filter(({ ownerId }) => ownerId === wish.ownerId);
    // One of its own first; those before it are only counted.
    for (const { id } of [...(ahead === 0 ? own : []), ...rows]) {
      const record = selectSandbox(db, id);
      if (record === undefined || !isTakeable(record, wish) || earlier.some((other) => other.id === id)) continue;
      earlier.push(record);
      if (earlier.length > ahead) return chosen(earlier, ahead, wish.ownerId);
    }
  }
  return undefined;
}
