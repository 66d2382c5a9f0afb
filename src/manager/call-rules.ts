/** The options of each call, and what each must be. What says how a sandbox is made is looked into by the configuration. */
import type { EphemeralRunOptions, LeaseOptions, ReapOptions, SessionOptions, ShellOptions } from '../core/api.ts';
import { CODE_LANGUAGES } from '../core/api.ts';
import type { RunOptions, StartOptions } from '../core/commands.ts';
import type { FileOptions, ReadOptions } from '../core/files.ts';
import type { MigrateOptions } from '../core/migration.ts';
import { NETWORK_LEVELS } from '../core/network.ts';
import type { LeaseTerms, SandboxOptions } from '../core/options.ts';
import type { PoolLeaseOptions } from '../core/pools.ts';
import type { SandboxSetOptions, SetSandboxOptions } from '../core/sandbox-sets.ts';
import type { Rule, Rules } from './check-call.ts';
import { checkCall, objectOf } from './check-call.ts';

const any: Rule = () => undefined;
const text: Rule = (value) => (typeof value === 'string' ? undefined : 'must be a string');
const yesOrNo: Rule = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');
const callback: Rule = (value) => (typeof value === 'function' ? undefined : 'must be a function');
const atLeast =
  (least: number): Rule =>
  (value) =>
    typeof value === 'number' && value >= least ? undefined : `must be a number, ${least} or more`;
const oneOf =
  (choices: readonly string[]): Rule =>
  (value) =>
    choices.includes(value as string) ? undefined : `must be one of ${choices.join(', ')}`;
const signal: Rule = (value) =>
  typeof (value as Partial<AbortSignal>).addEventListener === 'function' ? undefined : 'must be an AbortSignal';

const env: Rule = (value) => {
  if (typeof value !== 'object' || value === null) return 'must be an object of strings';
  // Its value may be a secret: only the name is told.
  for (const [name, content] of Object.entries(value))
    if (typeof content !== 'string') return `${name} must be a string`;
  return undefined;
};

/** A string for the shell, or words of which the first names a program. */
export const command: Rule = (value) => {
  if (typeof value === 'string') return undefined;
  if (!Array.isArray(value) || !value.every((word) => typeof word === 'string'))
    return 'must be a string for the shell, or an array of strings';
  return value[0] ? undefined : 'is empty: the first element names a program';
};

export const content: Rule = (value) =>
  typeof value === 'string' ||
  value instanceof Uint8Array ||
  (typeof value === 'object' && value !== null && Symbol.asyncIterator in value)
    ? undefined
    : 'must be a string, a Uint8Array or an async iterable of them';

export const path: Rule = text;
/** Of several files that are written together. */
export const entry: Rule = objectOf({ path: text, content, mode: atLeast(0) });
export const code: Rule = text;
export const body: Rule = callback;
export const language: Rule = oneOf(CODE_LANGUAGES);

const COMMAND = { cwd: text, env, timeoutMs: atLeast(0), signal };

export const RUN: Rules<RunOptions> = {
  ...COMMAND,
  stdin: content,
  maxOutputBytes: atLeast(0),
  onStdout: callback,
  onStderr: callback,
};

export const START: Rules<StartOptions> = {
  ...COMMAND,
  stdin: yesOrNo,
  pty: objectOf({ cols: atLeast(1), rows: atLeast(1) }),
};

export const SHELL: Rules<ShellOptions> = { cwd: text, env };

export const FILE: Rules<FileOptions> = { signal };

export const READ: Rules<ReadOptions> = { signal, maxBytes: atLeast(0) };

export const WRITE: Rules<FileOptions & { readonly mode?: number }> = { signal, mode: atLeast(0) };

export const SANDBOX: Rules<SandboxOptions> = {
  sandbox: any,
  image: any,
  network: any,
  env: any,
  limits: any,
  mounts: any,
  contextId: any,
  needs: any,
  policy: any,
  signal,
};

export const EPHEMERAL_RUN: Rules<EphemeralRunOptions> = { ...RUN, ...SANDBOX, onStart: callback };

const LEASE_TERMS: Rules<LeaseTerms> = { holder: text, ttlMs: any };
const leaseTerms = objectOf(LEASE_TERMS);
const exclusive: Rule = (value) => (typeof value === 'boolean' ? undefined : leaseTerms(value));
const KEY = { kind: any, user: text, task: text, conversation: text };

export const SESSION: Rules<SessionOptions> = { ...KEY, member: any, ...SANDBOX, exclusive };

export const SET: Rules<SandboxSetOptions> = { ...KEY, maxPerRuntime: any };

export const SET_SANDBOX: Rules<SetSandboxOptions> = { ...SANDBOX, runtime: text, fresh: yesOrNo, exclusive };

export const LEASE: Rules<LeaseOptions> = { ...LEASE_TERMS, sandboxId: text, signal };

export const POOL_LEASE: Rules<PoolLeaseOptions> = { ...LEASE_TERMS, signal, timeoutMs: atLeast(0), env };

export const MIGRATE: Rules<MigrateOptions> = { to: any, endCommands: yesOrNo, dryRun: yesOrNo, signal };

export const REAP: Rules<ReapOptions> = { dryRun: yesOrNo };

/** USAGE for what is no level: to refuse it as a looser one would be wrong twice. */
export function checkLevel(level: unknown): void {
  checkCall('setNetwork', undefined, {}, ['level', oneOf(NETWORK_LEVELS)(level)]);
}
