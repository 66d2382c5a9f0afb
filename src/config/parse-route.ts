/** A profile file with `sandbox` instead of `provider`: an ordered choice of others. */
import { basename } from 'node:path';
import type { Need } from '../core/needs.ts';
import type { NetworkLevel } from '../core/network.ts';
import { routeNames } from '../core/routing.ts';
import { checkFields } from './check-options.ts';
import { invalidConfig, type Problem } from './problems.ts';
import type { RouteProfile } from './profile.ts';
import type { ProviderCatalog } from './provider-catalog.ts';
import { ROUTE_RULES } from './rules.ts';

export interface RouteFile {
  readonly name: string;
  readonly file: string;
  /** In house form. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly providers: ProviderCatalog;
  /** Found so far. */
  readonly problems: Problem[];
}

/** CONFIG_INVALID with every problem and its path. Whether its choices exist is seen when they are used. */
export async function parseRoute({ name, file, fields, providers, problems }: RouteFile): Promise<RouteProfile> {
  const foreign = Object.keys(fields).filter((key) => !Object.hasOwn(ROUTE_RULES, key));
  const misplaced = foreign.length === 0 ? [] : await ofProfiles(foreign, providers);
  for (const path of misplaced)
    problems.push({ path, message: 'belongs in the profiles that "sandbox" names: what they are is theirs to say' });
  const rest = Object.fromEntries(Object.entries(fields).filter(([key]) => !misplaced.includes(key)));
  checkFields('', rest, ROUTE_RULES, problems);
  if (problems.length > 0) throw invalidConfig(basename(file), problems, `Edit ${file}.`);
  return Object.freeze({
    name,
    file,
    choices: Object.freeze(routeNames(rest['sandbox'] as string | readonly string[])),
    network: rest['network'] as NetworkLevel | undefined,
    needs: Object.freeze((rest['needs'] ?? []) as readonly Need[]),
  });
}

// The schema is slow to load, and a sound file needs nothing of it.
async function ofProfiles(keys: readonly string[], providers: ProviderCatalog): Promise<readonly string[]> {
  const { PROFILE_FIELDS } = await import('./profile-schema.ts');
  return keys.filter((key) => PROFILE_FIELDS.includes(key) || providers.ids.includes(key));
}
