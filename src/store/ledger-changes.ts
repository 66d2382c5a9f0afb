/** What a pass and a turn mean, as pure functions. */
import type { OwnerId } from '../core/ids.ts';
import type { Sighting } from './ledger.ts';

export interface Turn {
  readonly ownerId: OwnerId;
  readonly untilAt: number;
}

export function sightedAgain(before: readonly Sighting[], names: readonly string[], at: number): readonly Sighting[] {
  const known = new Map(before.map((sighting) => [sighting.name, sighting]));
  return [...new Set(names)].map((name) => {
    const { firstAt = at, count = 0 } = known.get(name) ?? {};
    // What was first seen under a clock that has been set back would otherwise never have been seen for long.
    return { name, firstAt: Math.min(firstAt, at), count: count + 1 };
  });
}

export function mayTakeTurn(turn: Turn | undefined, ownerId: OwnerId, at: number, ms: number): boolean {
  // One that was claimed a moment after `at` was read, and overtook it, is not over.
  return turn === undefined || turn.ownerId === ownerId || turn.untilAt <= at || turn.untilAt > at + 2 * ms;
}
