/** The ledger in memory. */
import type { Ledger, Placement, Sighting } from '../../store/ledger.ts';
import { mayTakeTurn, sightedAgain } from '../../store/ledger-changes.ts';
import type { Tables } from './tables.ts';

export function memoryLedger(open: () => Tables): Ledger {
  return {
    async sight(scope, names, at) {
      const { sightings } = open();
      const seen = sightedAgain(sightings.get(scope) ?? [], names, at);
      sightings.set(scope, seen);
      return seen;
    },
    async sightings(scope): Promise<readonly Sighting[]> {
      return open().sightings.get(scope) ?? [];
    },
    async claimTurn(name, ownerId, at, ms) {
      const { turns } = open();
      if (!mayTakeTurn(turns.get(name), ownerId, at, ms)) return false;
      turns.set(name, { ownerId, untilAt: at + ms });
      return true;
    },
    async placements(): Promise<readonly Placement[]> {
      return [...open().placements.values()];
    },
  };
}
