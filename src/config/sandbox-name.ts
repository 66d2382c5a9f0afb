/** Which sandbox is meant: by name, by what the session used before, by `SUBLET_SANDBOX`, else the best embedded provider. */
import { basename } from 'node:path';
import { SubletError } from '../core/errors.ts';
import { routeNames } from '../core/routing.ts';
import type { Environment } from './home.ts';
import { nearest } from '../core/nearest.ts';
import { invalidConfig } from './problems.ts';
import type { Profile, RouteProfile } from './profile.ts';
import type { ProfileFiles } from './profile-files.ts';
import type { ProviderCatalog } from './provider-catalog.ts';
import { profileSource, type Sourced, type ValueSource } from './sourced.ts';

export interface NameRequest {
  readonly sandbox?: string | readonly string[] | undefined;
  readonly previousProfile?: string | undefined;
}

export interface NameSources {
  readonly env: Environment;
  readonly profiles: ProfileFiles;
  readonly providers: ProviderCatalog;
  /** The first provider that may be chosen by itself and works on this machine. Must be cheap when asked again. */
  readonly automaticProvider: () => Promise<string | undefined>;
}

export interface ChosenSandbox {
  readonly name: Sourced<string>;
  readonly provider: string;
  readonly profile: Profile | undefined;
  /** The file that names it among others. */
  readonly route: RouteProfile | undefined;
}

/**
 * In order, at least one. A name is a profile file, else a provider's id, else PROFILE_NOT_FOUND; a file may stand for several, none of
 * which stands for several again. Every name is looked up, so that a wrong one shows before it is needed. The bare host is
 * never chosen by itself.
 */
export async function chooseSandboxes(request: NameRequest, sources: NameSources): Promise<readonly ChosenSandbox[]> {
  const names = firstNames(request, sources.env) ?? [
    { value: await automaticName(sources), source: 'default' as const },
  ];
  const chosen: ChosenSandbox[] = [];
  for (const name of names) chosen.push(...(await choicesFor(name, undefined, sources)));
  return chosen.filter(({ name }, index) => chosen.findIndex((other) => other.name.value === name.value) === index);
}

async function choicesFor(
  name: Sourced<string>,
  route: RouteProfile | undefined,
  sources: NameSources,
): Promise<readonly ChosenSandbox[]> {
  const profile = await sources.profiles.load(name.value);
  if (profile?.choices !== undefined) {
    if (route !== undefined) throw nested(route, name.value);
    const within = profile.choices.map((value) =>
      choicesFor({ value, source: profileSource(profile) }, profile, sources),
    );
    return (await Promise.all(within)).flat();
  }
  if (profile !== undefined) return [{ name, provider: profile.provider, profile, route }];
  if (sources.providers.ids.includes(name.value)) return [{ name, provider: name.value, profile: undefined, route }];
  throw await unknownName(name, sources);
}

function firstNames(
  { sandbox, previousProfile }: NameRequest,
  env: Environment,
): readonly Sourced<string>[] | undefined {
  const from = (text: string | readonly string[], source: ValueSource): readonly Sourced<string>[] =>
    routeNames(text).map((value) => ({ value, source }));
  if (sandbox !== undefined) return from(sandbox, 'call');
  if (previousProfile !== undefined) return from(previousProfile, 'session');
  const named = from(env['SUBLET_SANDBOX'] ?? '', 'env SUBLET_SANDBOX');
  return named.length === 0 ? undefined : named;
}

async function automaticName(sources: NameSources): Promise<string> {
  const provider = await sources.automaticProvider();
  if (provider !== undefined) return provider;
  throw new SubletError('PROVIDER_UNUSABLE', 'No provider that isolates works on this machine.', {
    hint: 'Run `sublet doctor` to see what is missing, or name a sandbox with --sandbox or SUBLET_SANDBOX.',
  });
}

function nested(route: RouteProfile, value: string): SubletError {
  const message = `"${value}" is a list itself; name what it names`;
  return invalidConfig(basename(route.file), [{ path: 'sandbox', message }], `Edit ${route.file}.`);
}

async function unknownName({ value, source }: Sourced<string>, sources: NameSources): Promise<SubletError> {
  const profiles = await sources.profiles.names();
  const known = [...new Set([...profiles, ...sources.providers.ids])];
  const match = nearest(value, known);
  const where =
    source === 'session'
      ? ', which this session used before'
      : source === 'call'
        ? ''
        : ` (from ${source.slice(source.indexOf(' ') + 1)})`;
  const lines = [
    `Profiles: ${profiles.length === 0 ? 'none' : profiles.join(', ')}.`,
    `Providers: ${sources.providers.ids.join(', ')}.`,
  ];
  return new SubletError(
    'PROFILE_NOT_FOUND',
    `No profile and no provider is called "${value}"${where}. ${lines.join(' ')}`,
    {
      details: { name: value, source, profiles, providers: sources.providers.ids, nearest: match },
      hint:
        match === undefined
          ? `Make ${sources.profiles.file('<name>')}, or name one of these.`
          : `Did you mean "${match}"?`,
    },
  );
}
