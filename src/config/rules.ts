/** What a value must be, in profile files and in calls alike. A rule says what is wrong, or undefined. */
import { isAbsolute } from 'node:path';
import { NEEDS } from '../core/needs.ts';
import { NETWORK_LEVELS } from '../core/network.ts';
import type { ExitAction, IdleAction, LifecyclePolicy, LostAction } from '../core/policy.ts';
import type { Limits, Mount } from '../core/spec.ts';
import { didYouMean } from '../core/nearest.ts';
import { parseSize } from './size.ts';

export type Rule = (value: unknown) => string | undefined;

export const IDLE_ACTIONS: readonly IdleAction[] = ['pause', 'stop', 'destroy'];
export const EXIT_ACTIONS: readonly ExitAction[] = ['pause', 'destroy', 'keep'];
export const LOST_ACTIONS: readonly LostAction[] = ['fail', 'recreate', 'restore'];

const TEN_YEARS_IN_MINUTES = 10 * 366 * 24 * 60;
const DAY_IN_SECONDS = 24 * 60 * 60;

export const oneOf =
  (choices: readonly string[]): Rule =>
  (value) => {
    if (typeof value === 'string' && choices.includes(value)) return undefined;
    return `must be one of ${choices.join(', ')}${typeof value === 'string' ? didYouMean(value, choices) : ''}`;
  };

export const minutes: Rule = (value) =>
  isWithin(value, 0, TEN_YEARS_IN_MINUTES)
    ? undefined
    : 'must be a number of minutes, 0 (never) or more, at most ten years';

export const createSeconds: Rule = (value) =>
  isWithin(value, 1, DAY_IN_SECONDS) ? undefined : 'must be a number of seconds from 1 to 86400';

export const boolean: Rule = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');

export const wholeCount: Rule = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? undefined : 'must be a whole number, 1 or more';

export const cores: Rule = (value) =>
  isWithin(value, 0.001, 100_000) ? undefined : 'must be a number of cores above 0, like 1.5';

export const size: Rule = (value) => {
  const bytes = typeof value === 'string' ? parseSize(value) : value;
  return wholeCount(bytes) === undefined ? undefined : 'must be a size like "512m" or "2g", or a number of bytes';
};

export const image: Rule = (value) => {
  if (typeof value !== 'string' || value.trim() === '') return 'must be the name or path of an image';
  if (hasControlCharacter(value)) return 'must not contain control characters';
  // It would be read as an option by command-line tools.
  return value.startsWith('-') ? 'must not start with a dash' : undefined;
};

export const network: Rule = oneOf(NETWORK_LEVELS);

// It names a volume or a directory at the provider, so nothing that means a path may be in it.
export const contextId: Rule = (value) =>
  typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(value)
    ? undefined
    : 'must be 1 to 128 letters, digits, dots, dashes or underscores, starting with a letter or digit';

/** It follows the profile's name and a slash. */
export const poolName: Rule = (value) =>
  typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(value)
    ? undefined
    : 'is not a name a pool can have';

export const variableName: Rule = (value) =>
  typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value) && value !== '__proto__'
    ? undefined
    : 'is not a name a variable can have';

export const variableValue: Rule = (value) => {
  if (typeof value !== 'string') return 'must be a string';
  return value.includes('\0') ? 'must not contain a NUL character' : undefined;
};

/** One name, several with commas, or a list. */
export const sandboxNames: Rule = (value) => {
  const isList = Array.isArray(value) && value.length > 0 && value.every(isName);
  if (isList || (typeof value === 'string' && value.split(',').every(isName))) return undefined;
  return 'must be the name of a profile or a provider, or a list of them';
};

export const needs: Rule = (value) => {
  if (!Array.isArray(value)) return 'must be a list';
  return (value as readonly unknown[]).map(oneOf(NEEDS)).find((problem) => problem !== undefined);
};

const mountPath: Rule = (value) => {
  if (typeof value !== 'string' || !isAbsolute(value)) return 'must be an absolute path';
  if (hasControlCharacter(value)) return 'must not contain control characters';
  return value.split('/').includes('..') ? 'must not contain ".."' : undefined;
};

const mountTarget: Rule = (value) => {
  const problem = mountPath(value);
  if (problem !== undefined) return problem;
  return /^\/+(\.\/*)*$/.test(value as string) ? 'must not be the root directory' : undefined;
};

export const POLICY_RULES: Readonly<Record<keyof LifecyclePolicy, Rule>> = {
  autoStopMinutes: minutes,
  autoStopMinMinutes: minutes,
  autoStopMaxMinutes: minutes,
  idleAction: oneOf(IDLE_ACTIONS),
  autoDeleteMinutes: minutes,
  onExit: oneOf(EXIT_ACTIONS),
  onLost: oneOf(LOST_ACTIONS),
  timeoutSeconds: createSeconds,
  healthCheck: boolean,
};

/** A profile file with `sandbox` instead of `provider`. */
export const ROUTE_RULES: Readonly<Record<'$schema' | 'sandbox' | 'network' | 'needs', Rule>> = {
  $schema: (value) => (typeof value === 'string' ? undefined : 'must be a string'),
  sandbox: sandboxNames,
  network,
  needs,
};

export const LIMIT_RULES: Readonly<Record<keyof Limits, Rule>> = {
  memoryBytes: wholeCount,
  cpuMillis: wholeCount,
  pids: wholeCount,
  diskBytes: wholeCount,
};

export const MOUNT_RULES: Readonly<Record<keyof Mount, Rule>> = {
  source: mountPath,
  target: mountTarget,
  readOnly: boolean,
};

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !value.includes(',');
}

function isWithin(value: unknown, low: number, high: number): boolean {
  return typeof value === 'number' && value >= low && value <= high;
}

function hasControlCharacter(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return /[\u0000-\u001f\u007f]/.test(text);
}
