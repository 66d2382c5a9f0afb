/** What processes that clean up tell each other: what was seen at a provider, whose turn it is, where to look. */
import type { OwnerId } from '../core/ids.ts';

/** Something at a provider that the rows do not explain, or the other way round. */
export interface Sighting {
  readonly name: string;
  readonly firstAt: number;
  /** In how many passes it was seen, without one in between in which it was not. */
  readonly count: number;
}

export interface Placement {
  readonly provider: string;
  readonly profile: string;
}

export interface Ledger {
  /** One pass over `scope` saw exactly these: new ones begin at count 1, what is not seen any more is forgotten. */
  sight(scope: string, names: readonly string[], at: number): Promise<readonly Sighting[]>;
  /** As they are, without a pass: for those who only look. */
  sightings(scope: string): Promise<readonly Sighting[]>;
  /**
   * One of all processes has the turn until `at + ms`; it may take it again. A turn that lasts longer than twice
   * that from now was taken under a clock that has been set back, and counts as over.
   */
  claimTurn(name: string, ownerId: OwnerId, at: number, ms: number): Promise<boolean>;
  /** Every provider and profile that a sandbox was ever made with. */
  placements(): Promise<readonly Placement[]>;
}
