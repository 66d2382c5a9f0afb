/** Pools on SQLite. */
import type { SandboxId } from '../../core/ids.ts';
import { newSandbox } from '../../store/changes.ts';
import { returnedEvent, returnedSandbox, toPoolCounts } from '../../store/pool-changes.ts';
import type { PoolRows, PoolScope } from '../../store/pools.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Connection } from './connection.ts';
import type { SessionCache } from './session-cache.ts';
import { changeSandbox } from './sqlite-leases.ts';
import { Takers } from './sqlite-takers.ts';
import { selectOwner } from './tables/owners.ts';
import {
  addToTally,
  countPool,
  countWaiting,
  deleteKeeper,
  deleteOldTickets,
  deleteTicket,
  insertTicket,
  renewTickets,
  selectKeepers,
  selectPools,
  selectTallies,
  upsertKeeper,
} from './tables/pools.ts';

export function sqlitePools(
  db: Connection,
  sessions: SessionCache,
  insert: (sandbox: SandboxRecord) => void,
): PoolRows {
  const totalOf = (scope: PoolScope): number => countPool(db, scope).reduce((total, { count }) => total + count, 0);

  const takers = new Takers(db, sessions);

  return {
    admit: (sandbox, scope, maxTotal) =>
      db.transaction(
        () => {
          if (totalOf(scope) >= maxTotal) return undefined;
          const record = newSandbox(sandbox);
          insert(record);
          return record;
        },
        (_, writes) => sessions.changed(writes, []),
      ),
    take: (wish) => takers.take(wish),
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
