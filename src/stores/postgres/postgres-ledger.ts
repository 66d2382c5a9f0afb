/** The ledger on Postgres. */
import type { Ledger } from '../../store/ledger.ts';
import { mayTakeTurn, sightedAgain } from '../../store/ledger-changes.ts';
import type { Connections } from './connections.ts';
import {
  insertTurn,
  lockSightings,
  lockTurn,
  replaceSightings,
  selectPlacements,
  selectSightings,
  updateTurn,
} from './tables/ledger.ts';

export function postgresLedger(connections: Connections): Ledger {
  return {
    sight: (scope, names, at) =>
      connections.transaction(async (db) => {
        await lockSightings(db, scope);
        const before = await selectSightings(db, scope);
        const seen = sightedAgain(before, names, at);
        if (before.length + seen.length > 0) await replaceSightings(db, scope, seen);
        return seen;
      }),
    sightings: (scope) => connections.read((db) => selectSightings(db, scope)),
    claimTurn: (name, ownerId, at, ms) =>
      connections.transaction(async (db) => {
        const turn = { ownerId, untilAt: at + ms };
        if (await insertTurn(db, name, turn)) return true;
        if (!mayTakeTurn(await lockTurn(db, name), ownerId, at, ms)) return false;
        await updateTurn(db, name, turn);
        return true;
      }),
    placements: () => connections.read((db) => selectPlacements(db)),
  };
}
