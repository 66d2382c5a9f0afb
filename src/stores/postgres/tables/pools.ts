/** The tables of pools, and the pool's side of `sandboxes`. Each function is to be composed into a transaction. */
import type { OwnerId } from '../../../core/ids.ts';
import type { SandboxState } from '../../../core/states.ts';
import type { PoolGroup } from '../../../store/pool-changes.ts';
import type { NewTicket, PoolScope, TakeWish, TallyRow } from '../../../store/pools.ts';
import type { SandboxRecord } from '../../../store/records.ts';
import type { Db } from '../driver.ts';
import { SANDBOX_COLUMNS, toSandbox } from './sandboxes.ts';

const LIVE = `state in ('creating', 'running', 'paused', 'stopped', 'destroying')`;

// What another is taking just now is passed over, not waited for.
export const IDLE = `select ${SANDBOX_COLUMNS} from sublet.sandboxes
  where pool = $1 and state = $2 and lease is null and lane = $3 and network = $4
    and (terms ->> 'expiresAt' is null or (terms ->> 'expiresAt')::float8 > $7)
  order by (owner_id = $5) desc, created_at limit $6 for no key update skip locked`;

export const COUNT = `select state, lease is null, count(*)::integer from sublet.sandboxes
  where pool = $1 and ${LIVE} and ($2::text is null or host_id = $2) group by state, lease is null`;

// A pool has no row of its own to lock. The first number tells this use of advisory locks from others: "Pool" in ASCII.
const LOCK_POOL = `select pg_advisory_xact_lock(${0x506f6f6c}, hashtext($1))`;

const NAMES = `select distinct pool from sublet.sandboxes where pool is not null and ${LIVE} order by pool`;

// One that lasts for longer than twice its term from now was given under a clock that has been set back.
const AHEAD = `select count(*)::integer from sublet.pool_tickets
  where pool = $1 and lane = $2 and number < $3 and until_at > $4 and until_at <= $4 + 2 * ttl_ms`;

const WAITING = `select count(*)::integer from sublet.pool_tickets
  where pool = $1 and ($2::text is null or host_id = $2) and until_at > $3 and until_at <= $3 + 2 * ttl_ms`;

const ADD_TICKET = `insert into sublet.pool_tickets (pool, lane, owner_id, host_id, until_at, ttl_ms)
  values ($1, $2, $3, $4, $5, $6)`;

const LAST_TICKET = `select currval(pg_get_serial_sequence('sublet.pool_tickets', 'number'))::integer`;

// By its term alone nothing is forgotten: clocks differ, and its process may only have stood still.
const FORGET_TICKETS = `delete from sublet.pool_tickets
  where pool = $1 and until_at < $2 and owner_id not in (select id from sublet.owners)`;

const STAY = 'update sublet.pool_tickets set until_at = $2 + ttl_ms where owner_id = $1';

const REMOVE_TICKET = 'delete from sublet.pool_tickets where number = $1';

const KEEP = `insert into sublet.pool_keepers (pool, owner_id, lane) values ($1, $2, $3)
  on conflict (pool, owner_id) do update set lane = excluded.lane`;

const FORGET_KEEPERS =
  'delete from sublet.pool_keepers where pool = $1 and owner_id not in (select id from sublet.owners)';

const UNKEEP = 'delete from sublet.pool_keepers where pool = $1 and owner_id = $2';

const KEEPERS = 'select lane, owner_id from sublet.pool_keepers where pool = $1';

const TALLY = `insert into sublet.pool_tallies (pool, name, value)
  select pool, name, value from unnest($1::text[], $2::text[], $3::float8[]) as added (pool, name, value) order by pool, name
  on conflict (pool, name) do update set value = pool_tallies.value + excluded.value`;

const TALLIES = 'select pool, name, value from sublet.pool_tallies where pool = $1';

/** Locked until the transaction ends; the taker's own first. */
export async function lockIdle(
  db: Db,
  { pool, lane, network, ownerId, at }: TakeWish,
  state: SandboxState,
  limit: number,
): Promise<readonly SandboxRecord[]> {
  return (await db.rows(IDLE, [pool, state, lane, network, ownerId, limit, at])).map((row) => toSandbox(row));
}

/** Until the transaction ends, nobody else adds to the pool. */
export async function lockPool(db: Db, pool: string): Promise<void> {
  await db.rows(LOCK_POOL, [pool]);
}

export async function countPool(db: Db, { pool, hostId }: PoolScope): Promise<readonly PoolGroup[]> {
  const rows = await db.rows(COUNT, [pool, hostId ?? null]);
  return rows.map(([state, isFree, count]) => ({
    state: state as SandboxState,
    isLeased: isFree !== true,
    count: count as number,
  }));
}

export async function selectPools(db: Db): Promise<readonly string[]> {
  return (await db.rows(NAMES)).map(([name]) => name as string);
}

/** How many come before whoever has the wish. */
export async function countAhead(db: Db, { pool, lane, ticket, at }: TakeWish): Promise<number> {
  return Number((await db.rows(AHEAD, [pool, lane, ticket ?? Number.MAX_SAFE_INTEGER, at]))[0]?.[0]);
}

export async function countWaiting(db: Db, { pool, hostId }: PoolScope, at: number): Promise<number> {
  return Number((await db.rows(WAITING, [pool, hostId ?? null, at]))[0]?.[0]);
}

export async function insertTicket(db: Db, { pool, lane, ownerId, hostId, at, ttlMs }: NewTicket): Promise<number> {
  await db.change(ADD_TICKET, [pool, lane, ownerId, hostId, at + ttlMs, ttlMs]);
  return Number((await db.rows(LAST_TICKET))[0]?.[0]);
}

export async function deleteOldTickets(db: Db, pool: string, at: number): Promise<void> {
  await db.change(FORGET_TICKETS, [pool, at]);
}

export async function renewTickets(db: Db, ownerId: OwnerId, at: number): Promise<void> {
  await db.change(STAY, [ownerId, at]);
}

export async function deleteTicket(db: Db, ticket: number): Promise<void> {
  await db.change(REMOVE_TICKET, [ticket]);
}

export async function upsertKeeper(db: Db, pool: string, lane: string, ownerId: OwnerId): Promise<void> {
  await db.change(FORGET_KEEPERS, [pool]);
  await db.change(KEEP, [pool, ownerId, lane]);
}

export async function deleteKeeper(db: Db, pool: string, ownerId: OwnerId): Promise<void> {
  await db.change(UNKEEP, [pool, ownerId]);
}

export async function selectKeepers(db: Db, pool: string): Promise<readonly { lane: string; ownerId: OwnerId }[]> {
  const rows = await db.rows(KEEPERS, [pool]);
  return rows.map(([lane, ownerId]) => ({ lane: lane as string, ownerId: ownerId as OwnerId }));
}

export async function addToTallies(db: Db, rows: readonly TallyRow[]): Promise<void> {
  await db.change(TALLY, [rows.map(({ pool }) => pool), rows.map(({ name }) => name), rows.map(({ value }) => value)]);
}

export async function selectTallies(db: Db, pool: string): Promise<readonly TallyRow[]> {
  const rows = await db.rows(TALLIES, [pool]);
  return rows.map(([name, key, value]) => ({ pool: name as string, name: key as string, value: value as number }));
}
