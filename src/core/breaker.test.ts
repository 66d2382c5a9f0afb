import { describe, expect, it } from 'vitest';
import type { Breaker } from './breaker.ts';
import { CLOSED_BREAKER, afterFailure, afterSuccess, ceilingAt, triesAllowed } from './breaker.ts';

const PLAIN = { isCapacity: false, retryAfterMs: 0 };
const NO_ROOM = { isCapacity: true, retryAfterMs: 0 };

function fail(times: number, from: Breaker = CLOSED_BREAKER): Breaker {
  return Array.from({ length: times }).reduce<Breaker>((breaker) => afterFailure(breaker, PLAIN, 3, 0), from);
}

describe('the breaker', () => {
  it('bears one failure, then waits, twice as long each time, up to a minute', () => {
    expect(triesAllowed(fail(1), 0)).toBe(Infinity);
    expect([2, 3, 4, 5, 20].map((times) => fail(times).openUntil)).toEqual([1_000, 2_000, 4_000, 8_000, 60_000]);
  });

  it('lets one try when the wait is over, and all when that one succeeds', () => {
    const open = fail(3);
    expect([triesAllowed(open, 1_999), triesAllowed(open, 2_000)]).toEqual([0, 1]);
    expect(triesAllowed(afterSuccess(open), 0)).toBe(Infinity);
  });

  it('waits as long as the provider asks', () => {
    expect(afterFailure(CLOSED_BREAKER, { isCapacity: true, retryAfterMs: 7_000 }, 3, 100).openUntil).toBe(7_100);
  });

  it('lowers the ceiling to what there is when there is no room, and raises it again with time', () => {
    const full = afterFailure(CLOSED_BREAKER, NO_ROOM, 3, 0);
    expect([0, 29_999, 30_000, 90_000].map((now) => ceilingAt(full, now))).toEqual([3, 3, 4, 6]);
    expect(ceilingAt(afterSuccess(full), 30_000)).toBe(4);
    expect(ceilingAt(afterFailure(CLOSED_BREAKER, NO_ROOM, 0, 0), 0)).toBe(1);
  });

  it('has no ceiling before it has heard of one', () => {
    expect(ceilingAt(fail(3), 0)).toBe(Infinity);
  });
});
