/** The `sightings`, `turns` and `placements` tables. Each function is to be composed into a transaction. */
import type { OwnerId } from '../../../core/ids.ts';
import type { Placement, Sighting } from '../../../store/ledger.ts';
import type { Turn } from '../../../store/ledger-changes.ts';
import type { Db } from '../driver.ts';

const SIGHTINGS = 'select name, first_at, count from sublet.sightings where scope = $1';

// A scope has no row of its own to lock. The first number tells this use of advisory locks from others: "Sgts" in ASCII.
const LOCK_SCOPE = `select pg_advisory_xact_lock(${0x53677473}, hashtext($1))`;

const FORGET_SIGHTINGS = 'delete from sublet.sightings where scope = $1';

const ADD_SIGHTINGS = `insert into sublet.sightings (scope, name, first_at, count)
  select $1, name, first_at, count from unnest($2::text[], $3::float8[], $4::integer[]) as seen (name, first_at, count)`;

const FIRST_TURN = `insert into sublet.turns (name, owner_id, until_at) values ($1, $2, $3) on conflict do nothing`;

const TURN = 'select owner_id, until_at from sublet.turns where name = $1 for no key update';

const TAKE_TURN = 'update sublet.turns set owner_id = $2, until_at = $3 where name = $1';

const PLACE = 'insert into sublet.placements (provider, profile) values ($1, $2) on conflict do nothing';

const PLACEMENTS = 'select provider, profile from sublet.placements';

export async function selectSightings(db: Db, scope: string): Promise<readonly Sighting[]> {
  const rows = await db.rows(SIGHTINGS, [scope]);
  return rows.map(([name, firstAt, count]) => ({
    name: name as string,
    firstAt: firstAt as number,
    count: count as number,
  }));
}

/** Until the transaction ends, nobody else changes what was seen there. */
export async function lockSightings(db: Db, scope: string): Promise<void> {
  await db.rows(LOCK_SCOPE, [scope]);
}

export async function replaceSightings(db: Db, scope: string, sightings: readonly Sighting[]): Promise<void> {
  await db.change(FORGET_SIGHTINGS, [scope]);
  await db.change(ADD_SIGHTINGS, [
    scope,
    sightings.map(({ name }) => name),
    sightings.map(({ firstAt }) => firstAt),
    sightings.map(({ count }) => count),
  ]);
}

/** False when somebody has or had it before. */
export async function insertTurn(db: Db, name: string, turn: Turn): Promise<boolean> {
  return (await db.change(FIRST_TURN, [name, turn.ownerId, turn.untilAt])) === 1;
}

/** Locked until the transaction ends. */
export async function lockTurn(db: Db, name: string): Promise<Turn | undefined> {
  const [row] = await db.rows(TURN, [name]);
  return row && { ownerId: row[0] as OwnerId, untilAt: row[1] as number };
}

export async function updateTurn(db: Db, name: string, turn: Turn): Promise<void> {
  await db.change(TAKE_TURN, [name, turn.ownerId, turn.untilAt]);
}

export async function insertPlacement(db: Db, { provider, profile }: Placement): Promise<void> {
  await db.change(PLACE, [provider, profile]);
}

export async function selectPlacements(db: Db): Promise<readonly Placement[]> {
  const rows = await db.rows(PLACEMENTS);
  return rows.map(([provider, profile]) => ({ provider: provider as string, profile: profile as string }));
}
