/** Pools on Postgres. */
import type { NewSandbox } from '../../store/store.ts';
import { creatingEvent, leasedEvents, newSandbox } from '../../store/changes.ts';
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
import type { Connections } from './connections.ts';
import type { Db } from './driver.ts';
import { changeSandbox } from './postgres-leases.ts';
import { insertEvents } from './tables/events.ts';
import { insertPlacement } from './tables/ledger.ts';
import { selectOwner } from './tables/owners.ts';
import * as tables from './tables/pools.ts';
import { insertSandbox, updateSandbox } from './tables/sandboxes.ts';

export function postgresPools(connections: Connections): PoolRows {
  return {
    admit: (sandbox, scope, maxTotal) => connections.transaction((db) => admit(db, sandbox, scope, maxTotal)),
    take: (wish) => connections.transaction((db) => take(db, wish)),
    giveBack: (id, token, cause, at) =>
      changeSandbox(
        connections,
        id,
        (before) => returnedSandbox(before, token, at),
        (before) => [returnedEvent(before, token, cause, at)],
      ),
    counts: (scope, at) =>
      connections.read(async (db) =>
        toPoolCounts(await tables.countPool(db, scope), await tables.countWaiting(db, scope, at)),
      ),
    names: () => connections.read((db) => tables.selectPools(db)),
    queue: (ticket) =>
      connections.transaction(async (db) => {
        await tables.deleteOldTickets(db, ticket.pool, ticket.at);
        return tables.insertTicket(db, ticket);
      }),
    stay: (ownerId, at) => connections.transaction((db) => tables.renewTickets(db, ownerId, at)),
    unqueue: (ticket) => connections.transaction((db) => tables.deleteTicket(db, ticket)),
    keep: (pool, lane, ownerId) => connections.transaction((db) => tables.upsertKeeper(db, pool, lane, ownerId)),
    unkeep: (pool, ownerId) => connections.transaction((db) => tables.deleteKeeper(db, pool, ownerId)),
    keepers: (pool) =>
      connections.read(async (db) => {
        const keepers = await tables.selectKeepers(db, pool);
        const owners = await Promise.all(keepers.map(({ ownerId }) => selectOwner(db, ownerId)));
        return keepers.flatMap(({ lane }, index) => {
          const owner = owners[index];
          return owner === undefined ? [] : [{ lane, owner }];
        });
      }),
    addToTallies: (rows) => connections.transaction((db) => tables.addToTallies(db, rows)),
    tallies: (pool) => connections.read((db) => tables.selectTallies(db, pool)),
  };
}

async function admit(
  db: Db,
  sandbox: NewSandbox,
  scope: PoolScope,
  maxTotal: number,
): Promise<SandboxRecord | undefined> {
  await tables.lockPool(db, scope.pool);
  const groups = await tables.countPool(db, scope);
  if (groups.reduce((total, { count }) => total + count, 0) >= maxTotal) return undefined;
  const record = newSandbox(sandbox);
  await insertSandbox(db, record);
  await insertPlacement(db, record);
  await insertEvents(db, [creatingEvent(record)]);
  return record;
}

async function take(db: Db, wish: TakeWish): Promise<SandboxRecord | undefined> {
  const before = await pick(db, wish);
  const after = before && takenSandbox(before, wish);
  if (before === undefined || after === undefined) return undefined;
  await updateSandbox(db, before, after);
  if (wish.ticket !== undefined) await tables.deleteTicket(db, wish.ticket);
  await insertEvents(db, leasedEvents(before, after, wish.at));
  return after;
}

// As many are locked as are needed to know that those ahead have theirs too.
async function pick(db: Db, wish: TakeWish): Promise<SandboxRecord | undefined> {
  const ahead = await tables.countAhead(db, wish);
  const takeable: SandboxRecord[] = [];
  for (const state of IDLE_STATES) {
    const rows = await tables.lockIdle(db, wish, state, ahead + 1);
    takeable.push(...rows.filter((row) => isTakeable(row, wish)));
    if (takeable.length > ahead) return chosen(takeable, ahead, wish.ownerId);
  }
  return undefined;
}
