/** The tables of pools, and the pool's side of `sandboxes`. Each function is to be composed into a transaction. */
import type { OwnerId, SandboxId } from '../../../core/ids.ts';
import type { SandboxState } from '../../../core/states.ts';
import type { PoolGroup } from '../../../store/pool-changes.ts';
import type { NewTicket, PoolScope, TakeWish, TallyRow } from '../../../store/pools.ts';
import type { SandboxRecord } from '../../../store/records.ts';
import type { Connection } from '../connection.ts';
import { SANDBOX_COLUMNS, toSandbox } from './sandboxes.ts';

const LIVE = `state in ('creating', 'running', 'paused', 'stopped', 'destroying')`;

export const IDLE = `select id from sandboxes indexed by sandboxes_pool
  where pool = ? and state = ? and (lease is null) = 1 and lane = ? and network = ? order by created_at limit ?`;

export const OWN_IDLE = `select ${SANDBOX_COLUMNS} from sandboxes indexed by sandboxes_pool
  where pool = ? and state = ? and (lease is null) = 1 and lane = ? and network = ? and owner_id = ?
  order by created_at limit ?`;

export const COUNT = `select state, lease is null, count(*) from sandboxes indexed by sandboxes_pool
  where pool = ? and ${LIVE} group by state, lease is null`;

export const COUNT_ON_HOST = `select state, lease is null, count(*) from sandboxes indexed by sandboxes_pool
  where pool = ? and ${LIVE} and host_id = ? group by state, lease is null`;

const NAMES = `select distinct pool from sandboxes indexed by sandboxes_pool where pool is not null and ${LIVE} order by pool`;

// One that lasts for longer than twice its term from now was given under a clock that has been set back.
const AHEAD = `select count(*) from pool_tickets
  where pool = ? and lane = ? and number < ? and until_at > ? and until_at <= ? + 2 * ttl_ms`;

const WAITING = 'select count(*) from pool_tickets where pool = ? and until_at > ? and until_at <= ? + 2 * ttl_ms';

const WAITING_ON_HOST = `${WAITING} and host_id = ?`;

const ADD_TICKET =
  'insert into pool_tickets (pool, lane, owner_id, host_id, until_at, ttl_ms) values (?, ?, ?, ?, ?, ?) returning number';

// By its term alone nothing is forgotten: clocks differ, and its process may only have stood still.
const FORGET_TICKETS =
  'delete from pool_tickets where pool = ? and until_at < ? and owner_id not in (select id from owners)';

const STAY = 'update pool_tickets set until_at = ? + ttl_ms where owner_id = ?';

const REMOVE_TICKET = 'delete from pool_tickets where number = ?';

const KEEP = 'insert or replace into pool_keepers (pool, owner_id, lane) values (?, ?, ?)';

const FORGET_KEEPERS = 'delete from pool_keepers where pool = ? and owner_id not in (select id from owners)';

const UNKEEP = 'delete from pool_keepers where pool = ? and owner_id = ?';

const KEEPERS = 'select lane, owner_id from pool_keepers where pool = ?';

const TALLY = `insert into pool_tallies (pool, name, value) values (?, ?, ?)
  on conflict (pool, name) do update set value = value + excluded.value`;

const TALLIES = 'select pool, name, value from pool_tallies where pool = ?';

/** The oldest first. */
export function selectIdle(
  db: Connection,
  { pool, lane, network }: TakeWish,
  state: SandboxState,
  limit: number,
): readonly SandboxId[] {
  const rows = db.statement(IDLE).all(pool, state, lane, network, limit);
  return rows.map(([id]) => id as SandboxId);
}

/** Of those that the taker's process has made or had last. */
export function selectOwnIdle(
  db: Connection,
  { pool, lane, network, ownerId }: TakeWish,
  state: SandboxState,
  limit: number,
): readonly SandboxRecord[] {
  const rows = db.statement(OWN_IDLE).all(pool, state, lane, network, ownerId, limit);
  return rows.map((row) => toSandbox(row));
}

export function countPool(db: Connection, { pool, hostId }: PoolScope): readonly PoolGroup[] {
  const rows = hostId === undefined ? db.statement(COUNT).all(pool) : db.statement(COUNT_ON_HOST).all(pool, hostId);
  return rows.map(([state, isFree, count]) => ({
    state: state as SandboxState,
    isLeased: isFree === 0,
    count: count as number,
  }));
}

export function selectPools(db: Connection): readonly string[] {
  return db
    .statement(NAMES)
    .all()
    .map(([name]) => name as string);
}

/** How many come before whoever has the wish. */
export function countAhead(db: Connection, { pool, lane, ticket, at }: TakeWish): number {
  return Number(db.statement(AHEAD).get(pool, lane, ticket ?? Number.MAX_SAFE_INTEGER, at, at)?.[0]);
}

export function countWaiting(db: Connection, { pool, hostId }: PoolScope, at: number): number {
  const sql = hostId === undefined ? WAITING : WAITING_ON_HOST;
  return Number(db.statement(sql).get(pool, at, at, ...(hostId === undefined ? [] : [hostId]))?.[0]);
}

export function insertTicket(db: Connection, { pool, lane, ownerId, hostId, at, ttlMs }: NewTicket): number {
  return Number(db.statement(ADD_TICKET).get(pool, lane, ownerId, hostId, at + ttlMs, ttlMs)?.[0]);
}

export function deleteOldTickets(db: Connection, pool: string, at: number): void {
  db.statement(FORGET_TICKETS).run(pool, at);
}

export function renewTickets(db: Connection, ownerId: OwnerId, at: number): void {
  db.statement(STAY).run(at, ownerId);
}

export function deleteTicket(db: Connection, ticket: number): void {
  db.statement(REMOVE_TICKET).run(ticket);
}

export function upsertKeeper(db: Connection, pool: string, lane: string, ownerId: OwnerId): void {
  db.statement(FORGET_KEEPERS).run(pool);
  db.statement(KEEP).run(pool, ownerId, lane);
}

export function deleteKeeper(db: Connection, pool: string, ownerId: OwnerId): void {
  db.statement(UNKEEP).run(pool, ownerId);
}

export function selectKeepers(db: Connection, pool: string): readonly { lane: string; ownerId: OwnerId }[] {
  return db
    .statement(KEEPERS)
    .all(pool)
    .map(([lane, ownerId]) => ({ lane: lane as string, ownerId: ownerId as OwnerId }));
}

export function addToTally(db: Connection, { pool, name, value }: TallyRow): void {
  db.statement(TALLY).run(pool, name, value);
}

export function selectTallies(db: Connection, pool: string): readonly TallyRow[] {
  return db
    .statement(TALLIES)
    .all(pool)
    .map(([name, key, value]) => ({ pool: name as string, name: key as string, value: value as number }));
}
