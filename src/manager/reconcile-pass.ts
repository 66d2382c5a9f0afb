/** One comparison of the record with a provider, and what was seen in it and in those before. */
import type { SandboxProvider } from '../provider/provider.ts';
import type { Placement, Sighting } from '../store/ledger.ts';
import type { Engine } from './engine.ts';
import type { LanePass } from './lanes.ts';
import type { OwnerCensus } from './owner-watch.ts';

export interface Pass {
  readonly engine: Engine;
  readonly provider: SandboxProvider;
  readonly placement: Placement;
  /** Names what this provider shows from here: other profiles may be other accounts, other machines have other sandboxes. */
  readonly scope: string;
  readonly census: OwnerCensus;
  readonly lanes: LanePass;
  readonly dryRun: boolean;
}

/** The names seen in this pass and how often each was in a row; only looked up, and counted as one more, in a dry run. */
export async function sight(
  { engine, scope, dryRun }: Pass,
  what: 'orphan' | 'missing' | 'awake',
  names: readonly string[],
): Promise<ReadonlyMap<string, Sighting>> {
  const { ledger } = engine.ports.store;
  const at = engine.now();
  if (!dryRun) return byName(await ledger.sight(`${what}:${scope}`, names, at));
  const before = await ledger.sightings(`${what}:${scope}`);
  return byName(before.map((sighting) => ({ ...sighting, count: sighting.count + 1 })));
}

function byName(sightings: readonly Sighting[]): ReadonlyMap<string, Sighting> {
  return new Map(sightings.map((sighting) => [sighting.name, sighting]));
}
