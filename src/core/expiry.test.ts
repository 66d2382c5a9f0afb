import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dueAction, dueAt, type ExpiryFacts } from './expiry.ts';
import { DEFAULT_POLICY, type LifecyclePolicy } from './policy.ts';
import { SANDBOX_STATES } from './states.ts';

const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 1);

function facts(policy: Partial<LifecyclePolicy>, rest: Partial<ExpiryFacts> = {}): ExpiryFacts {
  return { state: 'running', createdAt: START, lastActiveAt: START, policy: { ...DEFAULT_POLICY, ...policy }, ...rest };
}

const anyFacts = fc.record({
  state: fc.constantFrom(...SANDBOX_STATES),
  createdAt: fc.integer({ min: START - 1e9, max: START + 1e9 }),
  lastActiveAt: fc.integer({ min: START - 1e9, max: START + 1e9 }),
  policy: fc
    .record({
      autoStopMinutes: fc.nat(10_000),
      autoDeleteMinutes: fc.nat(10_000),
      idleAction: fc.constantFrom('pause' as const, 'stop' as const, 'destroy' as const),
    })
    .map((policy) => ({ ...DEFAULT_POLICY, ...policy })),
});

describe('dueAt', () => {
  it('is the earlier of idleness and age', () => {
    expect(dueAt(facts({ autoStopMinutes: 10, autoDeleteMinutes: 60 }))).toBe(START + 10 * MINUTE);
    const active = { lastActiveAt: START + 55 * MINUTE };
    expect(dueAt(facts({ autoStopMinutes: 10, autoDeleteMinutes: 60 }, active))).toBe(START + 60 * MINUTE);
  });

  it('is never when both limits are 0', () => {
    expect(dueAt(facts({ autoStopMinutes: 0, autoDeleteMinutes: 0 }))).toBeUndefined();
  });

  it('is the age alone when the idle limit is 0', () => {
    expect(dueAt(facts({ autoStopMinutes: 0, autoDeleteMinutes: 5 }))).toBe(START + 5 * MINUTE);
  });

  it('is the first instant at which something is due, for all policies, states and times', () => {
    fc.assert(
      fc.property(anyFacts, (given) => {
        const at = dueAt(given);
        if (at === undefined) {
          expect(dueAction(given, false, Number.MAX_SAFE_INTEGER)).toBeUndefined();
        } else {
          expect(dueAction(given, false, at)).toBeDefined();
          expect(dueAction(given, false, at - 1)).toBeUndefined();
        }
      }),
    );
  });
});

describe('dueAction', () => {
  it('is the idle action once idle long enough, and nothing a moment before', () => {
    const given = facts({ autoStopMinutes: 10, idleAction: 'pause' });
    expect(dueAction(given, false, START + 10 * MINUTE - 1)).toBeUndefined();
    expect(dueAction(given, false, START + 10 * MINUTE)).toEqual({ action: 'pause', reason: 'idle' });
  });

  it('is nothing for a busy sandbox, however long ago it was last used', () => {
    expect(dueAction(facts({ autoStopMinutes: 10 }), true, START + 1_000 * MINUTE)).toBeUndefined();
  });

  it('is to destroy at the hard deadline, busy or not, whatever the idle action', () => {
    const given = facts({ autoStopMinutes: 10, autoDeleteMinutes: 10, idleAction: 'pause' });
    for (const busy of [true, false]) {
      expect(dueAction(given, busy, START + 10 * MINUTE)).toEqual({ action: 'destroy', reason: 'too-old' });
    }
  });

  it.each(['paused', 'stopped'] as const)('leaves a %s sandbox alone after its idle action', (state) => {
    for (const idleAction of ['pause', 'stop'] as const) {
      expect(
        dueAction(facts({ autoStopMinutes: 10, idleAction }, { state }), false, START + 99 * MINUTE),
      ).toBeUndefined();
    }
  });

  it.each(['paused', 'stopped'] as const)('destroys a %s sandbox that stays idle when that is the action', (state) => {
    const given = facts({ autoStopMinutes: 10, idleAction: 'destroy' }, { state });
    expect(dueAction(given, false, START + 10 * MINUTE)).toEqual({ action: 'destroy', reason: 'idle' });
  });

  it.each(['paused', 'stopped'] as const)('destroys a %s sandbox at its hard deadline', (state) => {
    const given = facts({ autoDeleteMinutes: 20, idleAction: 'pause' }, { state });
    expect(dueAction(given, false, START + 20 * MINUTE)).toEqual({ action: 'destroy', reason: 'too-old' });
  });

  it.each(['creating', 'destroying', 'destroyed', 'lost'] as const)('asks nothing of a %s sandbox', (state) => {
    const given = facts({ autoStopMinutes: 1, autoDeleteMinutes: 1 }, { state });
    expect(dueAt(given)).toBeUndefined();
    expect(dueAction(given, false, START + 99 * MINUTE)).toBeUndefined();
  });

  it('makes nothing due when the clock jumps back behind the last use', () => {
    const given = facts({ autoStopMinutes: 10, autoDeleteMinutes: 60 });
    expect(dueAction(given, false, START - 5 * MINUTE)).toBeUndefined();
  });
});

describe('of a pool’s sandbox', () => {
  const terms = { network: 'open', reuse: 'never', maxUses: 0, idleMs: MINUTE, expiresAt: START + 5 * MINUTE } as const;
  const idle = facts({}, { terms });

  it('policy acts when it is idle for too long or too old, and the session’s idle time does not count', () => {
    expect(dueAt(idle)).toBe(START + MINUTE);
    expect(dueAt({ ...idle, lastActiveAt: START + 5 * MINUTE })).toBe(START + 5 * MINUTE);
    expect(dueAction(idle, false, START + MINUTE)).toEqual({ action: 'destroy', reason: 'idle' });
    expect(dueAction(idle, false, START + 5 * MINUTE)).toEqual({ action: 'destroy', reason: 'too-old' });
    expect(dueAction(idle, false, START + MINUTE - 1)).toBeUndefined();
  });

  it('somebody looks when its lease ends, and it goes unless the lease still stands', () => {
    const leased = { ...idle, lease: { expiresAt: START + 2 * MINUTE } };
    expect(dueAt(leased)).toBe(START + 2 * MINUTE);
    expect(dueAction(leased, false, START + 2 * MINUTE)).toEqual({ action: 'destroy', reason: 'abandoned' });
    expect(dueAction(leased, true, START + 9 * MINUTE)).toBeUndefined();
  });

  it('the hard deadline outranks a lease', () => {
    const leased = { ...facts({ autoDeleteMinutes: 3 }, { terms }), lease: { expiresAt: START + 9 * MINUTE } };
    expect(dueAction(leased, true, START + 3 * MINUTE)).toEqual({ action: 'destroy', reason: 'too-old' });
  });
});
