import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explainIdle, type GapSummary, idleMinutes, longestIdleMinutes, observeGap } from './adaptive-idle.ts';
import { dueAction, dueAt } from './expiry.ts';
import { DEFAULT_POLICY } from './policy.ts';

const MINUTE = 60_000;
const POLICY = { ...DEFAULT_POLICY, autoStopMinutes: 10, autoStopMinMinutes: 5, autoStopMaxMinutes: 30 };
const OFF = { ...DEFAULT_POLICY, autoStopMinutes: 10 };

const gapMs = fc.double({ min: 30_000, max: 30 * 24 * 60 * MINUTE, noNaN: true });
const gapsMs = fc.array(gapMs, { minLength: 1, maxLength: 200 });

function after(gaps: readonly number[], from?: GapSummary): GapSummary | undefined {
  return gaps.reduce<GapSummary | undefined>((summary, gap) => observeGap(summary, gap), from);
}

describe('the summary of gaps', () => {
  it('stays between the shortest and the longest gap, whatever their order', () => {
    fc.assert(
      fc.property(gapsMs, (gaps) => {
        const usual = after(gaps)?.usualMs ?? 0;
        expect(usual).toBeGreaterThanOrEqual(Math.min(...gaps));
        expect(usual).toBeLessThanOrEqual(Math.max(...gaps));
      }),
    );
  });

  it('comes to a new habit within a hundred uses, whatever was before', () => {
    fc.assert(
      fc.property(gapsMs, fc.double({ min: 30_000, max: 24 * 60 * MINUTE, noNaN: true }), (before, habit) => {
        const usual =
          after(
            Array.from({ length: 200 }, () => habit),
            after(before),
          )?.usualMs ?? 0;
        expect(usual / habit).toBeCloseTo(1, 5);
      }),
    );
  });

  it('grows with every gap: a longer one never makes it shorter', () => {
    fc.assert(
      fc.property(gapsMs, gapMs, gapMs, (before, one, other) => {
        const [shorter, longer] = [Math.min(one, other), Math.max(one, other)];
        const [a, b] = [observeGap(after(before), shorter), observeGap(after(before), longer)];
        expect(a?.usualMs).toBeLessThanOrEqual(b?.usualMs ?? 0);
      }),
    );
  });

  it('takes short pauses and instants that run backwards for no gap', () => {
    const summary = after([4 * MINUTE, 4 * MINUTE]);
    for (const gap of [0, 29_999, -MINUTE, Number.NaN]) expect(observeGap(summary, gap)).toBe(summary);
    expect(observeGap(undefined, 1_000)).toBeUndefined();
  });

  it('is not led astray by one long night', () => {
    const night = after([...Array.from({ length: 20 }, () => 4 * MINUTE), 12 * 60 * MINUTE])?.usualMs ?? 0;
    expect(night).toBeLessThan(6 * MINUTE);
  });
});

describe('the time-out', () => {
  it('is within the bounds, whatever the gaps are', () => {
    const bounds = fc.tuple(
      fc.double({ min: 0, max: 1e4, noNaN: true }),
      fc.double({ min: 0.1, max: 1e4, noNaN: true }),
    );
    fc.assert(
      fc.property(bounds, gapsMs, fc.nat(1_000), ([a, b], gaps, autoStopMinutes) => {
        const policy = { autoStopMinutes, autoStopMinMinutes: Math.min(a, b), autoStopMaxMinutes: Math.max(a, b) };
        const minutes = idleMinutes(policy, after(gaps));
        expect(minutes).toBeGreaterThanOrEqual(policy.autoStopMinMinutes);
        expect(minutes).toBeLessThanOrEqual(policy.autoStopMaxMinutes);
        expect(longestIdleMinutes(policy)).toBeGreaterThanOrEqual(minutes);
      }),
    );
  });

  it('is the policy’s own where nothing is to adapt, whatever the gaps are', () => {
    fc.assert(
      fc.property(gapsMs, (gaps) => {
        expect(idleMinutes(OFF, after(gaps))).toBe(10);
      }),
    );
  });

  it('is explained', () => {
    const gaps = after([4 * MINUTE, 4 * MINUTE, 4 * MINUTE]);
    expect(explainIdle(POLICY, gaps)).toBe('12 min: 3× the usual gap of 4 min, within 5–30');
    expect(explainIdle(POLICY, undefined)).toBe('10 min: too few gaps between uses to go by, within 5–30');
    expect(explainIdle(OFF, gaps)).toBe('10 min');
    expect(explainIdle({ ...OFF, autoStopMinutes: 0 }, gaps)).toBe('never');
    expect(explainIdle({ ...POLICY, autoStopMinutes: 0 }, undefined)).toMatch(/^30 min/);
  });

  it('is what a sandbox is due by', () => {
    const gaps = after([4 * MINUTE, 4 * MINUTE, 4 * MINUTE]);
    const facts = { state: 'running', policy: POLICY, createdAt: 0, lastActiveAt: 1_000, gaps } as const;
    expect(dueAt(facts)).toBe(1_000 + 12 * MINUTE);
    expect(dueAction(facts, false, 12 * MINUTE)).toBeUndefined();
    expect(dueAction(facts, false, 1_000 + 12 * MINUTE)).toEqual({ action: 'destroy', reason: 'idle' });
    expect(dueAction(facts, true, 1_000 + 12 * MINUTE)).toBeUndefined();
  });
});
