import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY, defaultPolicy, HEALTH_CHECK_FRESH_MS, needsHealthCheck } from './policy.ts';

describe('defaultPolicy', () => {
  it.each([
    ['execution', 10],
    ['desktop', 15],
    ['app', 30],
  ] as const)('lets %s sessions idle for %i minutes, then destroys', (kind, minutes) => {
    expect(defaultPolicy(kind)).toEqual({ ...DEFAULT_POLICY, autoStopMinutes: minutes, idleAction: 'destroy' });
  });

  it('has no hard deadline, pauses on exit, makes lost sandboxes again and checks health', () => {
    expect(DEFAULT_POLICY).toMatchObject({
      autoStopMinutes: 60,
      autoDeleteMinutes: 0,
      onExit: 'pause',
      onLost: 'recreate',
      timeoutSeconds: 180,
      healthCheck: true,
    });
  });
});

describe('needsHealthCheck', () => {
  const now = 1_000_000;

  it('is asked of a sandbox that never answered', () => {
    expect(needsHealthCheck(DEFAULT_POLICY, undefined, now)).toBe(true);
  });

  it('is skipped for 30 seconds after an answer, and not a moment longer', () => {
    expect(HEALTH_CHECK_FRESH_MS).toBe(30_000);
    expect(needsHealthCheck(DEFAULT_POLICY, now, now)).toBe(false);
    expect(needsHealthCheck(DEFAULT_POLICY, now - 29_999, now)).toBe(false);
    expect(needsHealthCheck(DEFAULT_POLICY, now - 30_000, now)).toBe(true);
  });

  it('is asked again when the clock went back: the answer may be of any age', () => {
    expect(needsHealthCheck(DEFAULT_POLICY, now + 1, now)).toBe(true);
  });

  it('is never asked when the policy says so', () => {
    expect(needsHealthCheck({ ...DEFAULT_POLICY, healthCheck: false }, undefined, now)).toBe(false);
  });
});
