/** Merges call, profile, environment and defaults into what is to be made, and remembers where each value came from. */
import { posix } from 'node:path';
import type { SandboxOptions } from '../core/api.ts';
import type { Need } from '../core/needs.ts';
import { isAtLeastAsTight, type NetworkLevel } from '../core/network.ts';
import { defaultPolicy, type LifecyclePolicy } from '../core/policy.ts';
import type { SandboxKind } from '../core/session-key.ts';
import type { Limits, Mount, ResolvedSandbox } from '../core/spec.ts';
import { checkOptions } from './check-options.ts';
import { ENV_SUFFIXES, type EnvValues, type NumberField } from './env-values.ts';
import { Explanation, type ExplainRow } from './explanation.ts';
import { invalidConfig } from './problems.ts';
import type { Profile, RouteProfile } from './profile.ts';
import type { ProviderDescription } from './provider-catalog.ts';
import { LIMIT_RULES, POLICY_RULES } from './rules.ts';
import { chooseSandboxes, type ChosenSandbox, type NameSources } from './sandbox-name.ts';
import { profileSource, type Sourced, type ValueSource } from './sourced.ts';

export interface ResolveFacts {
  readonly kind: SandboxKind;
  /** What this session used before. */
  readonly previousProfile?: string | undefined;
}

export interface ResolveSources extends NameSources {
  readonly envValues: EnvValues;
}

export interface ResolvedConfig extends ResolvedSandbox {
  /** The provider's section with its defaults; never a secret. */
  readonly providerOptions: Readonly<Record<string, unknown>>;
  readonly explanation: readonly ExplainRow[];
  readonly otherwise?: readonly ResolvedConfig[] | undefined;
}

/** CONFIG_INVALID, PROFILE_NOT_FOUND or PROVIDER_UNUSABLE; without a profile file it costs one stat a second. */
export async function resolveSandbox(
  options: SandboxOptions,
  facts: ResolveFacts,
  sources: ResolveSources,
): Promise<ResolvedConfig> {
  checkOptions(options);
  const { sandbox } = options;
  const [first, ...others] = await chooseSandboxes({ sandbox, previousProfile: facts.previousProfile }, sources);
  if (first === undefined) throw invalidConfig('The call', [{ path: 'sandbox', message: 'names nothing' }]);
  const resolved = await resolveChoice(first, options, facts, sources, undefined);
  if (others.length === 0) return resolved;
  const otherwise = others.map((choice) => resolveChoice(choice, options, facts, sources, resolved.network));
  return Object.freeze({ ...resolved, otherwise: await Promise.all(otherwise) });
}

/** `floor`: the level of the first choice, which no other falls below. */
async function resolveChoice(
  { name, provider, profile, route }: ChosenSandbox,
  options: SandboxOptions,
  facts: ResolveFacts,
  sources: ResolveSources,
  floor: NetworkLevel | undefined,
): Promise<ResolvedConfig> {
  const description = await sources.providers.describe(provider);
  const layers: Layers = {
    options,
    profile,
    route,
    from: profile === undefined ? 'default' : profileSource(profile),
    envValues: sources.envValues,
  };

  const rows = new Explanation();
  return Object.freeze({
    profile: rows.add('sandbox', name),
    provider: rows.add('provider', { value: provider, source: profile === undefined ? name.source : layers.from }),
    image: rows.add('image', layered(layers, 'image') ?? sources.envValues.image(provider) ?? unset),
    network: rows.add('network', resolveNetwork(layers, description, floor)),
    contextId: rows.add('contextId', layered(layers, 'contextId') ?? unset),
    limits: resolveLimits(layers, rows),
    mounts: resolveMounts(layers, rows),
    env: resolveEnv(layers, rows),
    needs: resolveNeeds(layers, rows),
    policy: resolvePolicy(layers, provider, facts.kind, rows),
    pools: profile?.pools,
    providerOptions: resolveProviderOptions(layers, description, rows),
    explanation: rows.rows,
  });
}

interface Layers {
  readonly options: SandboxOptions;
  readonly profile: Profile | undefined;
  readonly route: RouteProfile | undefined;
  /** What to say of the profile's values. */
  readonly from: ValueSource;
  readonly envValues: EnvValues;
}

const unset: Sourced<undefined> = { value: undefined, source: 'default' };

function layered<K extends 'image' | 'network' | 'contextId'>(
  layers: Layers,
  field: K,
): Sourced<NonNullable<Profile[K]>> | undefined {
  return pick(layers.options[field] as Profile[K], layers.profile?.[field], layers.from);
}

function pick<T>(
  fromCall: T | undefined,
  fromProfile: T | undefined,
  from: ValueSource,
): Sourced<NonNullable<T>> | undefined {
  if (fromCall !== undefined && fromCall !== null) return { value: fromCall, source: 'call' };
  if (fromProfile !== undefined && fromProfile !== null) return { value: fromProfile, source: from };
  return undefined;
}

// A list in a file and the first choice of any list are floors: a choice may be tighter and never weaker.
function resolveNetwork(
  layers: Layers,
  description: ProviderDescription,
  floor: NetworkLevel | undefined,
): Sourced<NetworkLevel> {
  const { route, options } = layers;
  const own = layered(layers, 'network') ?? { value: defaultNetwork(description), source: 'default' as const };
  const floors: readonly Sourced<NetworkLevel | undefined>[] = [
    {
      value: options.network === undefined ? route?.network : undefined,
      source: route ? profileSource(route) : 'default',
    },
    { value: floor, source: 'the first choice' },
  ];
  return floors.reduce<Sourced<NetworkLevel>>(
    (level, { value, source }) =>
      value === undefined || isAtLeastAsTight(level.value, value) ? level : { value, source },
    own,
  );
}

function resolveNeeds({ options, route, profile, from }: Layers, rows: Explanation): readonly Need[] {
  const sources: readonly Sourced<readonly Need[]>[] = [
    { value: options.needs ?? [], source: 'call' },
    { value: route?.needs ?? [], source: route === undefined ? 'default' : profileSource(route) },
    { value: profile?.needs ?? [], source: from },
  ];
  const needs = sources.flatMap(({ value, source }) => value.map((need) => ({ need, source })));
  const distinct = needs.filter(({ need }, index) => needs.findIndex((other) => other.need === need) === index);
  return Object.freeze(distinct.map(({ need, source }, index) => rows.add(`needs.${index}`, { value: need, source })));
}

// Nothing is reachable unless somebody asks for it. A provider that cannot cut the network says so by its capabilities.
function defaultNetwork({ capabilities }: ProviderDescription): NetworkLevel {
  return capabilities.includes('network-none') || !capabilities.includes('network-open') ? 'none' : 'open';
}

const LIMIT_FIELDS = Object.keys(LIMIT_RULES) as readonly (keyof Limits)[];

function resolveLimits({ options, profile, from }: Layers, rows: Explanation): Limits {
  if (options.limits === undefined && profile === undefined) return NO_LIMITS;
  const limits: { -readonly [K in keyof Limits]: Limits[K] } = {};
  for (const field of LIMIT_FIELDS) {
    const found = pick(options.limits?.[field], profile?.limits[field], from);
    if (found !== undefined) limits[field] = rows.add(`limits.${field}`, found);
  }
  return Object.freeze(limits);
}

const NO_LIMITS: Limits = Object.freeze({});

// The call adds to the profile's mounts; at the same target it replaces.
function resolveMounts({ options, profile, from }: Layers, rows: Explanation): readonly Mount[] {
  const byTarget = new Map<string, Sourced<Mount>>();
  for (const mount of profile?.mounts ?? []) byTarget.set(posix.resolve(mount.target), { value: mount, source: from });
  for (const mount of options.mounts ?? []) byTarget.set(posix.resolve(mount.target), { value: mount, source: 'call' });
  return Object.freeze([...byTarget.values()].map((mount, index) => rows.addMount(index, mount)));
}

function resolveEnv({ options, profile, from }: Layers, rows: Explanation): Readonly<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const [name, secret] of Object.entries(profile?.env ?? {})) env[name] = secret.reveal();
  Object.assign(env, options.env);
  for (const name of Object.keys(env)) rows.addSecret(`env.${name}`, options.env?.[name] === undefined ? from : 'call');
  return Object.freeze(env);
}

const POLICY_FIELDS = Object.keys(POLICY_RULES) as readonly (keyof LifecyclePolicy)[];

function resolvePolicy(layers: Layers, provider: string, kind: SandboxKind, rows: Explanation): LifecyclePolicy {
  const defaults = defaultPolicy(layers.profile?.kind ?? kind);
  const entries = POLICY_FIELDS.map((field) => {
    const found =
      pick(layers.options.policy?.[field], layers.profile?.policy[field], layers.from) ??
      (isNumberField(field) ? layers.envValues.number(provider, field) : undefined);
    return [field, rows.add(field, found ?? { value: defaults[field], source: 'default' })] as const;
  });
  return Object.freeze(Object.fromEntries(entries)) as unknown as LifecyclePolicy;
}

function isNumberField(field: keyof LifecyclePolicy): field is NumberField {
  return field in ENV_SUFFIXES;
}

function resolveProviderOptions(
  { profile, from }: Layers,
  { id, options }: ProviderDescription,
  rows: Explanation,
): Readonly<Record<string, unknown>> {
  const resolved: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(options)) {
    if (field.secret !== undefined) continue;
    const found = pick<unknown>(undefined, profile?.options[name], from) ?? {
      value: field.default,
      source: 'default' as const,
    };
    const value = rows.add(`${id}.${name}`, found);
    if (value !== undefined) resolved[name] = value;
  }
  return Object.freeze(resolved);
}
