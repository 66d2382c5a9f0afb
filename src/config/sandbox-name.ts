/** Which sandbox is meant: by name, by what the session used before, by `SUBLET_SANDBOX`, else the best embedded provider. */
import { SubletError } from '../core/errors.ts';
import type { Environment } from './home.ts';
import { nearest } from './nearest.ts';
import type { Profile } from './profile.ts';
import type { ProfileFiles } from './profile-files.ts';
import type { ProviderCatalog } from './provider-catalog.ts';
import type { Sourced } from './sourced.ts';

export interface NameRequest {
  readonly sandbox?: string | undefined;
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
}

/** A name is a profile file, else a provider's id, else PROFILE_NOT_FOUND. The bare host is never chosen by itself. */
export async function chooseSandbox(request: NameRequest, sources: NameSources): Promise<ChosenSandbox> {
  const name = firstName(request, sources.env) ?? { value: await automaticName(sources), source: 'default' };
  const profile = await sources.profiles.load(name.value);
  if (profile !== undefined) return { name, provider: profile.provider, profile };
  if (sources.providers.ids.includes(name.value)) return { name, provider: name.value, profile: undefined };
  throw await unknownName(name, sources);
}

function firstName({ sandbox, previousProfile }: NameRequest, env: Environment): Sourced<string> | undefined {
  if (sandbox !== undefined) return { value: sandbox, source: 'call' };
  if (previousProfile !== undefined) return { value: previousProfile, source: 'session' };
  const variable = env['SUBLET_SANDBOX']?.trim();
  return variable ? { value: variable, source: 'env SUBLET_SANDBOX' } : undefined;
}

async function automaticName(sources: NameSources): Promise<string> {
  const provider = await sources.automaticProvider();
  if (provider !== undefined) return provider;
  throw new SubletError('PROVIDER_UNUSABLE', 'No provider that isolates works on this machine.', {
    hint: 'Run `sublet doctor` to see what is missing, or name a sandbox with --sandbox or SUBLET_SANDBOX.',
  });
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
        : ` (from ${source.slice('env '.length)})`;
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
