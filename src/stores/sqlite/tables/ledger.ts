/** The `sightings`, `turns` and `placements` tables. Each function is to be composed into a transaction. */
import type { OwnerId } from '../../../core/ids.ts';
import type { Placement, Sighting } from '../../../store/ledger.ts';
import type { Turn } from '../../../store/ledger-changes.ts';
import type { Connection } from '../connection.ts';

const SIGHTINGS = 'select name, first_at, count from sightings where scope = ?';

const FORGET_SIGHTINGS = 'delete from sightings where scope = ?';

const ADD_SIGHTING = 'insert into sightings (scope, name, first_at, count) values (?, ?, ?, ?)';

const TURN = 'select owner_id, until_at from turns where name = ?';

const TAKE_TURN = 'insert or replace into turns (name, owner_id, until_at) values (?, ?, ?)';

const PLACE = 'insert into placements (provider, profile) values (?, ?) on conflict do nothing';

const PLACEMENTS = 'select provider, profile from placements';

export function selectSightings(connection: Connection, scope: string): readonly Sighting[] {
  return connection
    .statement(SIGHTINGS)
    .all(scope)
    .map(([name, firstAt, count]) => ({
      name: name as string,
      firstAt: firstAt as number,
      count: count as number,
    }));
}

export function replaceSightings(connection: Connection, scope: string, sightings: readonly Sighting[]): void {
  connection.statement(FORGET_SIGHTINGS).run(scope);
  for (const { name, firstAt, count } of sightings) connection.statement(ADD_SIGHTING).run(scope, name, firstAt, count);
}

export function selectTurn(connection: Connection, name: string): Turn | undefined {
  const row = connection.statement(TURN).get(name);
  return row && { ownerId: row[0] as OwnerId, untilAt: row[1] as number };
}

export function takeTurn(connection: Connection, name: string, turn: Turn): void {
  connection.statement(TAKE_TURN).run(name, turn.ownerId, turn.untilAt);
}

export function insertPlacement(connection: Connection, { provider, profile }: Placement): void {
  connection.statement(PLACE).run(provider, profile);
}

export function selectPlacements(connection: Connection): readonly Placement[] {
  return connection
    .statement(PLACEMENTS)
    .all()
    .map(([provider, profile]) => ({ provider: provider as string, profile: profile as string }));
}
