/** The configuration of one installation: profiles, environment, keys and defaults behind one object. */
import type { SandboxOptions } from '../core/api.ts';
import { poolNameOf } from '../core/pool-settings.ts';
import type { SandboxKind } from '../core/session-key.ts';
import { readConfigEnv, setConfigEnv, type ConfigEnv } from './config-env.ts';
import { EnvValues } from './env-values.ts';
import { Explanation, type ExplainRow } from './explanation.ts';
import { homePaths, type Environment, type HomePaths } from './home.ts';
import type { Profile } from './profile.ts';
import { ProfileFiles, type ProfileSummary } from './profile-files.ts';
import type { ProviderCatalog } from './provider-catalog.ts';
import { resolveSandbox, type ResolvedConfig, type ResolveFacts, type ResolveSources } from './resolve-sandbox.ts';
import { resolveSecret } from './resolve-secret.ts';
import type { Sourced } from './sourced.ts';
import { chooseStore, type StoreChoice, type StoreName } from './store-choice.ts';
import { watchdogSetting } from './watchdog-setting.ts';

export interface ConfigPorts {
  readonly providers: ProviderCatalog;
  /** The first provider that may be chosen by itself and works on this machine. Must be cheap when asked again. */
  readonly automaticProvider: () => Promise<string | undefined>;
  /** Gets each warning once. It never holds a secret. */
  readonly warn?: ((message: string) => void) | undefined;
  readonly env?: Environment | undefined;
  readonly home?: HomePaths | undefined;
  readonly now?: (() => number) | undefined;
}

export interface ProviderSettings {
  /** The profile's section with the provider's defaults; never a secret. */
  readonly options: Readonly<Record<string, unknown>>;
  /** By variable name: the profile's field, the environment, then `config.env`. */
  secret(name: string): string | undefined;
}

export interface Config {
  readonly home: HomePaths;
  resolve(options: SandboxOptions, facts: ResolveFacts): Promise<ResolvedConfig>;
  /** Where everything is remembered. `call` is what the caller named. */
  store(call?: StoreName): Promise<Sourced<StoreChoice>>;
  /** What an adapter is opened with. A profile whose file is gone, or is for another provider now, counts as empty. */
  providerSettings(provider: string, profile: string): Promise<ProviderSettings>;
  /** Whether a process that holds sandboxes has a watchdog. */
  watchdog(): Sourced<boolean>;
  /** Every value a call with these options would get, and where it came from. */
  explain(options?: SandboxOptions, kind?: SandboxKind): Promise<readonly ExplainRow[]>;
  profiles(): Promise<readonly ProfileSummary[]>;
  /** The pools of all valid profiles, by the names that a lease takes. */
  pools(): Promise<readonly string[]>;
  /** Names of the keys in `config.env`. */
  keys(): Promise<readonly string[]>;
  /** Writes a key to `config.env`, or removes it. */
  setKey(name: string, value: string | undefined): Promise<void>;
}

export function createConfig(ports: ConfigPorts): Config {
  const env = ports.env ?? process.env;
  const home = ports.home ?? homePaths(env);
  const warn = once(ports.warn ?? (() => {}));
  const profiles = new ProfileFiles({
    directory: home.profilesDir,
    providers: ports.providers,
    warn,
    now: ports.now ?? Date.now,
  });
  const sources: ResolveSources = { ...ports, env, profiles, envValues: new EnvValues(env, warn) };
  const readKeys = (): Promise<ConfigEnv> => readConfigEnv(home, warn);

  const store: Config['store'] = (call) => chooseStore({ call, env, readKeys, home });

  return {
    home,
    store,
    resolve: (options, facts) => resolveSandbox(options, facts, sources),
    providerSettings: async (provider, profileName) => {
      const loaded = await profiles.load(profileName);
      const profile = loaded?.choices === undefined && loaded?.provider === provider ? loaded : undefined;
      const configEnv = await readKeys();
      return {
        options: await optionsOf(provider, profile, ports.providers),
        secret: (name) => resolveSecret(name, { profile, env, configEnv })?.value.reveal(),
      };
    },
    watchdog: () => watchdogSetting(env, warn),
    explain: async (options = {}, kind = 'execution') => {
      const { otherwise = [], ...first } = await resolveSandbox(options, { kind }, sources);
      const { value, source } = await store();
      return [
        ...(await explainChoices([first, ...otherwise], sources, readKeys)),
        { path: 'store', value: value.shown, source },
        { path: 'watchdog', ...watchdogSetting(env, warn) },
      ];
    },
    profiles: () => profiles.list(),
    pools: async () => {
      const names = await profiles.names();
      const loaded = await Promise.all(names.map((name) => profiles.load(name).catch(() => undefined)));
      return loaded.flatMap((profile) =>
        Object.keys(profile?.pools ?? {}).map((pool) => poolNameOf(profile?.name ?? '', pool)),
      );
    },
    keys: async () => [...(await readKeys()).keys()].toSorted(),
    setKey: (name, value) => setConfigEnv(home, name, value),
  };
}

async function optionsOf(
  provider: string,
  profile: Profile | undefined,
  providers: ProviderCatalog,
): Promise<Readonly<Record<string, unknown>>> {
  const { options } = await providers.describe(provider);
  const defaults = Object.entries(options).filter(
    ([, field]) => field.default !== undefined && field.secret === undefined,
  );
  return Object.freeze({
    ...Object.fromEntries(defaults.map(([name, field]) => [name, field.default])),
    ...profile?.options,
  });
}

/** Of several, each with its number before its paths. */
async function explainChoices(
  choices: readonly ResolvedConfig[],
  sources: ResolveSources,
  readKeys: () => Promise<ConfigEnv>,
): Promise<readonly ExplainRow[]> {
  const rows = choices.map(async ({ explanation, provider, profile }) => [
    ...explanation,
    ...(await explainSecrets(provider, profile, sources, readKeys)),
  ]);
  const explained = await Promise.all(rows);
  if (explained.length === 1) return explained.flat();
  return explained.flatMap((each, index) => each.map((row) => ({ ...row, path: `${index + 1}: ${row.path}` })));
}

async function explainSecrets(
  provider: string,
  profileName: string,
  sources: ResolveSources,
  readKeys: () => Promise<ConfigEnv>,
): Promise<readonly ExplainRow[]> {
  const { options } = await sources.providers.describe(provider);
  const loaded = await sources.profiles.load(profileName);
  const profile = loaded?.choices === undefined ? loaded : undefined;
  const configEnv = await readKeys();
  const rows = new Explanation();
  for (const [name, { secret: variable }] of Object.entries(options)) {
    if (variable === undefined) continue;
    const found = resolveSecret(variable, { profile, env: sources.env, configEnv });
    if (found === undefined) rows.add(`${provider}.${name}`, { value: undefined, source: 'default' });
    else rows.addSecret(`${provider}.${name}`, found.source);
  }
  return rows.rows;
}

function once(warn: (message: string) => void): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message)) return;
    said.add(message);
    warn(message);
  };
}
