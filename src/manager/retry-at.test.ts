/** Back-off without a counter. */
import { expect, it } from 'vitest';
import { SubletError } from '../core/errors.ts';
import { retryAt } from './retry-at.ts';

it('waits as long again as it has tried, between 5 seconds and 10 minutes', () => {
  const waits: number[] = [];
  for (let now = 0; waits.length < 9; now = retryAt(0, now)) waits.push(retryAt(0, now) - now);
  expect(waits).toEqual([5_000, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000]);
});

it('does not ask sooner than a provider said', () => {
  const cause = new SubletError('RATE_LIMITED', 'slow down', { details: { retryAfterMs: 90_000 } });
  expect(retryAt(0, 0, cause)).toBe(90_000);
});
