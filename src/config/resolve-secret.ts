/** Where a key comes from: the profile's field, then the environment, then `config.env`. */
import type { ConfigEnv } from './config-env.ts';
import type { Environment } from './home.ts';
import type { Profile } from './profile.ts';
import { Secret } from './secret.ts';
import { profileSource, type Sourced } from './sourced.ts';

export interface SecretSources {
  readonly profile: Profile | undefined;
  readonly env: Environment;
  readonly configEnv: ConfigEnv;
}

/** `name` is the variable's: `E2B_API_KEY`. An empty value is no value. */
export function resolveSecret(name: string, { profile, env, configEnv }: SecretSources): Sourced<Secret> | undefined {
  const fromProfile = profile?.secrets[name];
  if (profile !== undefined && fromProfile?.reveal()) return { value: fromProfile, source: profileSource(profile) };
  const fromEnv = env[name];
  if (fromEnv) return { value: new Secret(fromEnv), source: `env ${name}` };
  const fromFile = configEnv.get(name);
  return fromFile?.reveal() ? { value: fromFile, source: 'config.env' } : undefined;
}
