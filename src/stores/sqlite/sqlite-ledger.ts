/** The ledger on SQLite. */
import { mayTakeTurn, sightedAgain } from '../../store/ledger-changes.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Connection } from './connection.ts';
import { replaceSightings, selectPlacements, selectSightings, selectTurn, takeTurn } from './tables/ledger.ts';

export function sqliteLedger(db: Connection): Ledger {
  return {
    sight: (scope, names, at) =>
      db.transaction(() => {
        const before = selectSightings(db, scope);
        const seen = sightedAgain(before, names, at);
        if (before.length + seen.length > 0) replaceSightings(db, scope, seen);
        return seen;
      }),
    sightings: (scope) => db.run(() => selectSightings(db, scope)),
    claimTurn: (name, ownerId, at, ms) =>
      db.transaction(() => {
        if (!mayTakeTurn(selectTurn(db, name), ownerId, at, ms)) return false;
        takeTurn(db, name, { ownerId, untilAt: at + ms });
        return true;
      }),
    placements: () => db.run(() => selectPlacements(db)),
  };
}
