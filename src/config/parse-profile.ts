/** From the text of a profile file to a `Profile`, or to one error with everything that is wrong. */
import { basename } from 'node:path';
import type { LifecyclePolicy } from '../core/policy.ts';
import type { Limits } from '../core/spec.ts';
import { crossFieldProblems } from './cross-field.ts';
import { toHouseProfile } from './house-keys.ts';
import { didYouMean } from '../core/nearest.ts';
import { parseJson } from './parse-json.ts';
import { invalidConfig, isRecord, type Problem } from './problems.ts';
import { parseRoute } from './parse-route.ts';
import type { Profile, RouteProfile } from './profile.ts';
import type { ParsedProfile } from './profile-schema.ts';
import type { ProviderCatalog, ProviderDescription } from './provider-catalog.ts';
import { POLICY_RULES } from './rules.ts';
import { Secret } from './secret.ts';
import { parseSize } from './size.ts';

/** CONFIG_INVALID with every problem and its path. */
export async function parseProfile(
  name: string,
  file: string,
  text: string,
  providers: ProviderCatalog,
): Promise<Profile | RouteProfile> {
  const source = basename(file);
  const hint = `Edit ${file}.`;
  const raw = parseJson(text, source, hint);
  if (!isRecord(raw)) throw invalidConfig(source, [{ path: '', message: 'must be a JSON object' }], hint);

  const problems: Problem[] = [];
  const house = toHouseProfile(raw, providers.ids, problems);
  if (house['sandbox'] !== undefined) return parseRoute({ name, file, fields: house, providers, problems });
  const { provider: id, ...rest } = house;
  const provider = await findProvider(id, providers, problems);
  const fields = hoistImage(withoutForeignSections(rest, id, provider, providers, problems), provider, problems);
  problems.push(...crossFieldProblems(fields));

  const { parseWithSchema } = await import('./profile-schema.ts');
  const result = parseWithSchema(fields, provider);
  if ('problems' in result) problems.push(...result.problems);
  if ('problems' in result || provider === undefined || problems.length > 0)
    throw invalidConfig(source, problems, hint);
  return toProfile(name, file, provider, result.parsed, result.section);
}

async function findProvider(
  id: unknown,
  providers: ProviderCatalog,
  problems: Problem[],
): Promise<ProviderDescription | undefined> {
  if (typeof id === 'string' && providers.ids.includes(id)) return providers.describe(id);
  const suggestion = typeof id === 'string' ? didYouMean(id, providers.ids) : '';
  problems.push({ path: 'provider', message: `must be one of ${providers.ids.join(', ')}${suggestion}` });
  return undefined;
}

// A section for a provider that is not the profile's would be read by nobody.
function withoutForeignSections(
  fields: Readonly<Record<string, unknown>>,
  id: unknown,
  provider: ProviderDescription | undefined,
  providers: ProviderCatalog,
  problems: Problem[],
): Readonly<Record<string, unknown>> {
  const kept = Object.entries(fields).filter(([key]) => {
    if (key === provider?.id || (!providers.ids.includes(key) && (provider !== undefined || key !== id))) return true;
    if (provider !== undefined)
      problems.push({
        path: key,
        message: `this profile's provider is "${provider.id}"; only a section of that name belongs here`,
      });
    return false;
  });
  return Object.fromEntries(kept);
}

// The image is a field of every profile; some people's files have it in the provider's section.
function hoistImage(
  fields: Readonly<Record<string, unknown>>,
  provider: ProviderDescription | undefined,
  problems: Problem[],
): Readonly<Record<string, unknown>> {
  const section = provider === undefined ? undefined : fields[provider.id];
  if (provider === undefined || !isRecord(section) || section['image'] === undefined || 'image' in provider.options)
    return fields;
  const { image, ...others } = section;
  if (fields['image'] !== undefined)
    problems.push({ path: `${provider.id}.image`, message: 'says the same as "image"; keep one' });
  return { ...fields, image: fields['image'] ?? image, [provider.id]: others };
}

function toProfile(
  name: string,
  file: string,
  provider: ProviderDescription,
  parsed: ParsedProfile,
  section: Readonly<Record<string, unknown>>,
): Profile {
  const secrets: [string, Secret][] = [];
  const options: [string, unknown][] = [];
  for (const [key, value] of Object.entries(section)) {
    const variable = provider.options[key]?.secret;
    if (variable === undefined) options.push([key, value]);
    else secrets.push([variable, new Secret(String(value))]);
  }
  return Object.freeze({
    name,
    file,
    provider: provider.id,
    kind: parsed.kind,
    image: parsed.image,
    network: parsed.network,
    env: Object.freeze(
      Object.fromEntries(Object.entries(parsed.env ?? {}).map(([key, value]) => [key, new Secret(value)])),
    ),
    limits: toLimits(parsed.limits ?? {}),
    mounts: Object.freeze(parsed.mounts ?? []),
    contextId: parsed.contextId,
    needs: Object.freeze(parsed.needs ?? []),
    policy: toPolicy(parsed),
    pools: Object.freeze(parsed.pools ?? {}),
    options: Object.freeze(Object.fromEntries(options)),
    secrets: Object.freeze(Object.fromEntries(secrets)),
  });
}

function toLimits(parsed: NonNullable<ParsedProfile['limits']>): Limits {
  return Object.freeze({
    memoryBytes: parsed.memoryBytes ?? toBytes(parsed.memory),
    cpuMillis:
      parsed.cpuMillis ?? (parsed.cpus === undefined ? undefined : Math.max(1, Math.round(parsed.cpus * 1000))),
    pids: parsed.pids,
    diskBytes: parsed.diskBytes ?? toBytes(parsed.disk),
  });
}

function toBytes(size: string | number | undefined): number | undefined {
  return typeof size === 'string' ? parseSize(size) : size;
}

function toPolicy(parsed: ParsedProfile): Partial<LifecyclePolicy> {
  const fields = (Object.keys(POLICY_RULES) as (keyof LifecyclePolicy)[]).filter(
    (field) => parsed[field] !== undefined,
  );
  return Object.freeze(Object.fromEntries(fields.map((field) => [field, parsed[field]])));
}
