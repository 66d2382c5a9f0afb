/** What is wrong with a pool's settings, all of it at once. */
import type { PoolSettings } from './pool-settings.ts';

export interface PoolProblem {
  readonly field: string;
  readonly message: string;
}

export const WHEN_FULL: readonly PoolSettings['whenFull'][] = ['wait', 'fail', 'create'];
export const POOL_REUSES: readonly PoolSettings['reuse'][] = ['never', 'reset'];

const MOST = 100_000;
const MOST_MINUTES = 5_256_000;

/** What a value must be, or undefined when it is that. */
export const POOL_FIELDS: Readonly<Record<keyof PoolSettings, (value: unknown) => string | undefined>> = {
  minIdle: count(0),
  minPaused: count(0),
  maxTotal: count(1),
  maxUses: count(0),
  maxAgeMinutes: amount(0, MOST_MINUTES, 'a number of minutes, or 0 for no limit'),
  // An idle sandbox that nothing ends would outlive everybody who knows of it.
  idleTimeoutMinutes: amount(0.01, MOST_MINUTES, 'a number of minutes greater than 0'),
  refillPerSecond: amount(0, MOST, 'a number of sandboxes a second, or 0 for no limit'),
  createConcurrency: count(1),
  whenFull: oneOf(WHEN_FULL),
  waitTimeoutSeconds: amount(0, 86_400, 'a number of seconds, at most a day'),
  reuse: oneOf(POOL_REUSES),
};

export function poolProblems(settings: Readonly<Record<string, unknown>>): readonly PoolProblem[] {
  const single = Object.entries(settings).flatMap(([field, value]): readonly PoolProblem[] => {
    const rule = Object.hasOwn(POOL_FIELDS, field)
      ? POOL_FIELDS[field as keyof PoolSettings]
      : () => 'is not a setting';
    const message = value === undefined ? undefined : rule(value);
    return message === undefined ? [] : [{ field, message }];
  });
  return [...single, ...poolContradictions(settings)];
}

/** Rules between fields, for values of any type. `defaults`: what a field that is not given has. */
export function poolContradictions(settings: Readonly<Record<string, unknown>>): readonly PoolProblem[] {
  const { minIdle = 0, minPaused = 0, maxTotal = 10, maxUses = 0, reuse = 'never' } = settings;
  const found: PoolProblem[] = [];
  if (isNumber(minIdle) && isNumber(minPaused) && isNumber(maxTotal) && minIdle + minPaused > maxTotal) {
    const sum = minPaused > 0 ? 'minIdle and minPaused together' : 'minIdle';
    found.push({
      field: minIdle > 0 ? 'minIdle' : 'minPaused',
      message: `${sum} must not exceed maxTotal, which is ${maxTotal}`,
    });
  }
  if (isNumber(maxUses) && maxUses > 1 && reuse === 'never')
    found.push({ field: 'maxUses', message: 'needs reuse "reset": without it each sandbox is used once' });
  const { idleTimeoutMinutes: idle, maxAgeMinutes: age } = settings;
  if (isNumber(idle) && isNumber(age) && age > 0 && idle > age)
    found.push({ field: 'idleTimeoutMinutes', message: 'must not exceed maxAgeMinutes: it would never be reached' });
  return found;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function count(least: number): (value: unknown) => string | undefined {
  return (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= MOST
      ? undefined
      : `must be a whole number of at least ${least}`;
}

function amount(least: number, most: number, what: string): (value: unknown) => string | undefined {
  return (value) => (isNumber(value) && value >= least && value <= most ? undefined : `must be ${what}`);
}

function oneOf(choices: readonly string[]): (value: unknown) => string | undefined {
  return (value) => (choices.includes(value as string) ? undefined : `must be one of ${choices.join(', ')}`);
}
