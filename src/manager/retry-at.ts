/** When to try again what failed: as long again as it has been tried for, so that the waits double without a counter. */
import { SubletError } from '../core/errors.ts';

const SHORTEST_MS = 5_000;
const LONGEST_MS = 10 * 60_000;

/** `since` is when the first attempt began. A provider that said how long to wait is not asked sooner. */
export function retryAt(since: number, now: number, cause?: unknown): number {
  const wait = Math.min(Math.max(now - since, SHORTEST_MS), LONGEST_MS);
  return now + Math.max(wait, askedWaitMs(cause));
}

function askedWaitMs(cause: unknown): number {
  if (!SubletError.is(cause, 'RATE_LIMITED')) return 0;
  const { retryAfterMs } = cause.details;
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0;
}
