/** The schema of profile files. Imported late: loading zod costs more than everything else a command does. */
import { z } from 'zod';
import { NEEDS } from '../core/needs.ts';
import { NETWORK_LEVELS } from '../core/network.ts';
import { POOL_FIELDS, POOL_REUSES, WHEN_FULL } from '../core/pool-problems.ts';
import { SANDBOX_KINDS } from '../core/session-key.ts';
import type { ProviderOptionField } from '../provider/define-provider.ts';
import { didYouMean } from '../core/nearest.ts';
import { joinPath, type Problem } from './problems.ts';
import type { ProviderDescription } from './provider-catalog.ts';
import * as rules from './rules.ts';
import type { Rule } from './rules.ts';

const { LIMIT_RULES, MOUNT_RULES, POLICY_RULES } = rules;

const limits = z.strictObject(
  {
    memory: size('Memory: "512m", or bytes.'),
    memoryBytes: number(LIMIT_RULES.memoryBytes, 'Memory in bytes.'),
    cpus: number(rules.cores, 'Processor cores: 1.5.'),
    cpuMillis: number(LIMIT_RULES.cpuMillis, 'Thousandths of a core.'),
    pids: number(LIMIT_RULES.pids, 'Processes and threads.'),
    disk: size('Disk: "2g", or bytes.'),
    diskBytes: number(LIMIT_RULES.diskBytes, 'Disk in bytes.'),
  },
  { error: 'must be an object' },
);

const mount = z.strictObject(
  {
    source: text(MOUNT_RULES.source, 'Absolute path on the machine that runs the sandbox.'),
    target: text(MOUNT_RULES.target, 'Absolute path inside.'),
    readOnly: flag('Default true.').optional(),
  },
  { error: 'must be an object with source and target' },
);

const pool = z.strictObject(
  {
    minIdle: number(POOL_FIELDS.minIdle, 'How many are kept running and idle. Default 0.'),
    minPaused: number(POOL_FIELDS.minPaused, 'How many more are kept paused. Default 0.'),
    maxTotal: number(POOL_FIELDS.maxTotal, 'How many there may be. Default 10.'),
    maxUses: number(POOL_FIELDS.maxUses, 'How often one is used at most, with reuse. 0 = no limit.'),
    maxAgeMinutes: number(POOL_FIELDS.maxAgeMinutes, 'An idle one that is older is replaced. Default 60, 0 = never.'),
    idleTimeoutMinutes: number(POOL_FIELDS.idleTimeoutMinutes, 'Idle this long beyond the minimum: gone. Default 10.'),
    refillPerSecond: number(POOL_FIELDS.refillPerSecond, 'How many are begun in a second. 0 = no limit.'),
    createConcurrency: number(POOL_FIELDS.createConcurrency, 'How many are made at once. Default 2.'),
    whenFull: choice(WHEN_FULL, 'What a caller gets when there may not be more. Default wait.'),
    waitTimeoutSeconds: number(POOL_FIELDS.waitTimeoutSeconds, 'How long a caller waits. Default 30.'),
    reuse: choice(POOL_REUSES, 'What becomes of one after its use. Default never.'),
  },
  { error: 'must be an object' },
);

const shared = {
  $schema: z.string({ error: 'must be a string' }).optional().describe('For editors; not used.'),
  kind: choice(SANDBOX_KINDS, 'Whose defaults apply; otherwise those of the session.'),
  image: text(rules.image, 'What the sandbox starts from, as the provider names it.').optional(),
  network: choice(NETWORK_LEVELS, 'How much of the network it sees.'),
  env: z
    .record(text(rules.variableName, ''), text(rules.variableValue, ''), { error: 'must be an object of strings' })
    .optional()
    .describe('Variables of every command. Values are secrets.'),
  limits: limits.optional(),
  mounts: z.array(mount, { error: 'must be a list' }).optional().describe('Directories of the machine, shown inside.'),
  contextId: text(rules.contextId, 'A named volume at the working directory that outlives the sandbox.').optional(),
  needs: z
    .array(z.enum(NEEDS, asError(rules.oneOf(NEEDS))), { error: 'must be a list' })
    .optional()
    .describe('What its provider must be able to do: a provider that cannot is not asked.'),
  pools: z
    .record(text(rules.poolName, ''), pool, { error: 'must be an object of pools' })
    .optional()
    .describe('Warm sandboxes of this profile; "default" is the one that its name means.'),
  autoStopMinutes: number(POLICY_RULES.autoStopMinutes, 'Idle this long: idleAction. 0 = never.'),
  autoStopMinMinutes: number(POLICY_RULES.autoStopMinMinutes, 'The shortest that autoStopMinutes may become.'),
  autoStopMaxMinutes: number(
    POLICY_RULES.autoStopMaxMinutes,
    'The longest that it may become by following the gaps between uses. 0 = it does not follow them.',
  ),
  idleAction: choice(rules.IDLE_ACTIONS, 'What happens to an idle sandbox.'),
  autoDeleteMinutes: number(POLICY_RULES.autoDeleteMinutes, 'Total age: destroyed in any state. 0 = never.'),
  onExit: choice(rules.EXIT_ACTIONS, 'What happens to sessions when the owner exits.'),
  onLost: choice(rules.LOST_ACTIONS, 'What happens when the sandbox is gone.'),
  timeoutSeconds: number(POLICY_RULES.timeoutSeconds, 'How long a create may take.'),
  healthCheck: flag('Ask before reuse whether it still answers.').optional(),
};

export const PROFILE_FIELDS: readonly string[] = ['provider', ...Object.keys(shared)];

export type ParsedProfile = z.infer<z.ZodObject<typeof shared, z.core.$strict>>;

export type SchemaResult =
  | { readonly parsed: ParsedProfile; readonly section: Readonly<Record<string, unknown>> }
  | { readonly problems: readonly Problem[] };

/** Checks everything but `provider`, which is known by then: its `options` make the section's schema. */
export function parseWithSchema(
  raw: Readonly<Record<string, unknown>>,
  provider: ProviderDescription | undefined,
): SchemaResult {
  const section = provider === undefined ? {} : { [provider.id]: sectionSchema(provider.options) };
  const schema = z.strictObject({ ...shared, ...section });
  const result = schema.safeParse(raw);
  if (!result.success) return { problems: result.error.issues.flatMap((issue) => toProblems(issue, schema)) };
  const parsed = result.data as ParsedProfile & Record<string, unknown>;
  return {
    parsed,
    section: (provider === undefined ? undefined : (parsed[provider.id] as Record<string, unknown> | undefined)) ?? {},
  };
}

function sectionSchema(options: Readonly<Record<string, ProviderOptionField>>): z.ZodType {
  const fields = Object.entries(options).map(([name, field]) => [name, optionSchema(field).optional()]);
  return z
    .strictObject(Object.fromEntries(fields) as Record<string, z.ZodType>, { error: 'must be an object' })
    .optional();
}

function optionSchema({ type, description }: ProviderOptionField): z.ZodType {
  switch (type) {
    case 'string':
      return z.string({ error: 'must be a string' }).describe(description);
    case 'number':
      return z.number({ error: 'must be a number' }).describe(description);
    case 'boolean':
      return z.boolean({ error: 'must be true or false' }).describe(description);
    case 'strings':
      return z
        .array(z.string({ error: 'must be a string' }), { error: 'must be a list of strings' })
        .describe(description);
  }
}

function toProblems(issue: z.core.$ZodIssue, schema: z.ZodType): readonly Problem[] {
  const path = joinPath(...issue.path.map(String));
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => ({ path: joinPath(path, key), message: `unknown key${didYouMean(key, known)}` }));
  }
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => ({ path, message }));
  return [{ path, message: issue.message }];
}

/** The keys that the object at `path` may have. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let here: unknown = schema;
  for (const step of path) {
    if (here instanceof z.ZodOptional) here = here.unwrap();
    if (here instanceof z.ZodObject) here = (here.shape as Record<PropertyKey, unknown>)[step];
    else here = here instanceof z.ZodRecord ? here.valueType : (here as z.ZodArray).element;
  }
  if (here instanceof z.ZodOptional) here = here.unwrap();
  return here instanceof z.ZodObject ? Object.keys(here.shape) : [];
}

function text(rule: Rule, description: string): z.ZodString {
  return ruled(z.string(asError(rule)), rule).describe(description);
}

function number(rule: Rule, description: string): z.ZodOptional<z.ZodNumber> {
  return ruled(z.number(asError(rule)), rule)
    .optional()
    .describe(description);
}

function size(description: string): z.ZodOptional<z.ZodUnion<readonly [z.ZodString, z.ZodNumber]>> {
  return ruled(z.union([z.string(), z.number()], asError(rules.size)), rules.size)
    .optional()
    .describe(description);
}

function flag(description: string): z.ZodBoolean {
  return z.boolean(asError(rules.boolean)).describe(description);
}

function choice<const T extends string>(
  choices: readonly T[],
  description: string,
): z.ZodOptional<z.ZodEnum<{ [K in T]: K }>> {
  return z
    .enum(choices, asError(rules.oneOf(choices)))
    .optional()
    .describe(description);
}

// A value of the wrong type and one out of range get the same words.
function asError(rule: Rule): { error: (issue: { readonly input?: unknown }) => string | undefined } {
  return { error: (issue) => rule(issue.input) };
}

function ruled<S extends z.ZodType>(schema: S, rule: Rule): S {
  return schema.superRefine((value, context) => {
    const message = rule(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}
