import { describe, expect, it } from 'vitest';
import type { IdleSandbox, MakeFacts } from './pool-policy.ts';
import { allowanceAt, howManyToMake, isFull, termsFor, tidyIdle, unfitness, whyDiscard } from './pool-policy.ts';
import type { PoolSettings, PoolTerms } from './pool-settings.ts';
import { DEFAULT_POOL } from './pool-settings.ts';

const NOW = 1_000_000;
const TERMS: PoolTerms = { network: 'open', reuse: 'never', maxUses: 0, idleMs: 60_000 };

function settings(fields: Partial<PoolSettings>): PoolSettings {
  return { ...DEFAULT_POOL, ...fields };
}

describe('howManyToMake', () => {
  const none: MakeFacts = {
    total: 0,
    idle: 0,
    paused: 0,
    leased: 0,
    creating: 0,
    waiting: 0,
    making: 0,
    ceiling: Infinity,
    allowance: Infinity,
  };

  it.each<[string, Partial<PoolSettings>, Partial<MakeFacts>, number]>([
    ['nothing when nobody wants any', {}, {}, 0],
    ['what is missing to the minimum', { minIdle: 3, createConcurrency: 9 }, { idle: 1, total: 1 }, 2],
    ['one for each who waits, beyond the minimum', { minIdle: 1, createConcurrency: 9 }, { waiting: 2 }, 3],
    ['those that are kept paused too', { minPaused: 2, createConcurrency: 9 }, {}, 2],
    ['not what is in the making already', { minIdle: 3, createConcurrency: 9 }, { creating: 2, total: 2 }, 1],
    ['no more than there may be', { minIdle: 9, maxTotal: 4, createConcurrency: 9 }, { total: 3, leased: 3 }, 1],
    ['no more than the provider bears', { minIdle: 9, createConcurrency: 9 }, { total: 3, leased: 3, ceiling: 4 }, 1],
    ['no more at once than allowed', { minIdle: 9, createConcurrency: 3 }, { making: 1 }, 2],
    ['no more than the rate allows', { minIdle: 9, createConcurrency: 9 }, { allowance: 1.9 }, 1],
    ['nothing when there are too many', { minIdle: 1 }, { idle: 5, total: 5 }, 0],
  ])('makes %s', (_what, fields, facts, expected) => {
    expect(howManyToMake(settings(fields), { ...none, ...facts })).toBe(expected);
  });

  it('says when a pool is full', () => {
    const counts = { ...none, total: 4 };
    expect(isFull(settings({ maxTotal: 4 }), counts, Infinity)).toBe(true);
    expect(isFull(settings({ maxTotal: 5 }), counts, Infinity)).toBe(false);
    expect(isFull(settings({ maxTotal: 5 }), counts, 4)).toBe(true);
  });
});

describe('allowanceAt', () => {
  it('fills with time, up to a second’s worth', () => {
    const slow = settings({ refillPerSecond: 4 });
    expect(allowanceAt(slow, 0, 500)).toBe(2);
    expect(allowanceAt(slow, 3, 60_000)).toBe(4);
    expect(allowanceAt(settings({ refillPerSecond: 0.5 }), 0, 60_000)).toBe(1);
    expect(allowanceAt(slow, Infinity, 0)).toBe(4);
  });

  it('is without bound where there is no rate', () => {
    expect(allowanceAt(settings({}), 0, 0)).toBe(Infinity);
  });
});

describe('termsFor', () => {
  it('spreads the age limit over its last fifth', () => {
    const of = (random: number): number | undefined =>
      termsFor(settings({ maxAgeMinutes: 10 }), 'none', NOW, random).expiresAt;
    expect(of(0)).toBe(NOW + 600_000);
    expect(of(1)).toBe(NOW + 480_000);
  });

  it('has no age limit where there is none', () => {
    expect(termsFor(settings({ maxAgeMinutes: 0 }), 'none', NOW, 0.5).expiresAt).toBeUndefined();
  });
});

describe('tidyIdle', () => {
  const sandbox = (id: string, fields: Partial<IdleSandbox> = {}): IdleSandbox => ({
    id,
    state: 'running',
    network: 'open',
    terms: TERMS,
    lastActiveAt: NOW,
    isWanted: true,
    ...fields,
  });
  const old = { lastActiveAt: NOW - 60_000 };
  const tidy = (fields: Partial<PoolSettings>, idle: readonly IdleSandbox[], waiting = 0, canPause = true): string[] =>
    tidyIdle(settings(fields), idle, { waiting, canPause, now: NOW }).map(
      ({ id, action, reason }) => `${action} ${id}: ${reason}`,
    );

  it.each<[string, Partial<IdleSandbox>]>([
    ['not what the pool makes now', { isWanted: false }],
    ['network tightened', { network: 'none' }],
    ['stopped', { state: 'stopped' }],
    ['too old', { terms: { ...TERMS, expiresAt: NOW } }],
  ])('destroys what nobody may have: %s', (reason, fields) => {
    expect(tidy({ minIdle: 9 }, [sandbox('a', fields), sandbox('b')])).toEqual([`destroy a: ${reason}`]);
  });

  it('keeps the minimum however long it was idle, and destroys the rest, the longest idle first', () => {
    const idle = [sandbox('a', old), sandbox('b', { lastActiveAt: NOW - 70_000 }), sandbox('c', old)];
    expect(tidy({ minIdle: 3 }, idle)).toEqual([]);
    expect(tidy({ minIdle: 2 }, idle)).toEqual(['destroy b: idle for too long']);
  });

  it('leaves alone what was used lately', () => {
    expect(tidy({}, [sandbox('a')])).toEqual([]);
  });

  it('destroys nothing while somebody waits', () => {
    expect(tidy({}, [sandbox('a', old)], 1)).toEqual([]);
  });

  it('pauses what is more than the running minimum until enough sleep', () => {
    const idle = [sandbox('a'), sandbox('b'), sandbox('c', { state: 'paused' })];
    expect(tidy({ minIdle: 1, minPaused: 2 }, idle)).toEqual(['pause a: kept paused']);
    expect(tidy({ minIdle: 1, minPaused: 2 }, idle, 0, false)).toEqual([]);
    expect(tidy({ minIdle: 2, minPaused: 2 }, idle)).toEqual([]);
  });

  it('destroys sleepers that are too many', () => {
    const idle = [sandbox('a', { ...old, state: 'paused' }), sandbox('b', { state: 'paused' })];
    expect(tidy({ minPaused: 1 }, idle)).toEqual(['destroy a: idle for too long']);
  });

  it('finds nothing wrong with one that waits', () => {
    expect(unfitness(sandbox('a'), NOW)).toBeUndefined();
  });
});

describe('whyDiscard', () => {
  const used = { network: 'open', terms: { ...TERMS, reuse: 'reset' }, uses: 1, canReset: true } as const;

  it('keeps what may be reset', () => {
    expect(whyDiscard(used, NOW)).toBeUndefined();
  });

  it.each<[string, Partial<Parameters<typeof whyDiscard>[0]>]>([
    ['used once', { terms: TERMS }],
    ['network tightened', { network: 'none' }],
    ['its provider cannot reset', { canReset: false }],
    ['used often enough', { terms: { ...used.terms, maxUses: 1 } }],
    ['too old', { terms: { ...used.terms, expiresAt: NOW } }],
  ])('discards: %s', (reason, fields) => {
    expect(whyDiscard({ ...used, ...fields }, NOW)).toBe(reason);
  });
});
