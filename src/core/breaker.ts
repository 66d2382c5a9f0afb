/** What is done about a provider that fails: one waits longer each time, and asks for no more than the provider bears. */
import type { SubletError } from './errors.ts';

export interface Breaker {
  /** Creates that failed since the last one that did not. */
  readonly failures: number;
  /** Nothing is made before this instant. */
  readonly openUntil: number;
  /** How many the provider bears, by its own word. */
  readonly ceiling: number;
  /** When the ceiling was last moved. */
  readonly ceilingAt: number;
}

export interface Failure {
  readonly isCapacity: boolean;
  /** What the provider asked for. */
  readonly retryAfterMs: number;
}

export const CLOSED_BREAKER: Breaker = Object.freeze({ failures: 0, openUntil: 0, ceiling: Infinity, ceilingAt: 0 });

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** A single failure is an accident. */
const TOLERATED = 1;
/** How long a provider that has no room is believed before one more is tried. */
const CEILING_STEP_MS = 30_000;

/** What an error says of its provider. */
export function failureOf({ code, details }: SubletError): Failure {
  const { retryAfterMs } = details;
  return {
    isCapacity: code === 'RATE_LIMITED' || code === 'QUOTA_EXCEEDED',
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : 0,
  };
}

/** `total`: how many there are, without the one that failed. */
export function afterFailure(breaker: Breaker, failure: Failure, total: number, now: number): Breaker {
  const failures = breaker.failures + 1;
  const doubled = FIRST_WAIT_MS * 2 ** Math.min(failures - 1 - TOLERATED, 16);
  const waitMs =
    failures > TOLERATED || failure.isCapacity ? Math.min(Math.max(doubled, FIRST_WAIT_MS), LONGEST_WAIT_MS) : 0;
  const openUntil =
    waitMs + failure.retryAfterMs > 0 ? now + Math.max(waitMs, failure.retryAfterMs) : breaker.openUntil;
  return failure.isCapacity
    ? { failures, openUntil, ceiling: Math.max(1, total), ceilingAt: now }
    : { ...breaker, failures, openUntil };
}

export function afterSuccess(breaker: Breaker): Breaker {
  return { ...breaker, failures: 0, openUntil: 0 };
}

/** How many may be tried: none while it is open, one to see whether the provider is back. */
export function triesAllowed(breaker: Breaker, now: number): number {
  if (now < breaker.openUntil) return 0;
  return breaker.failures > TOLERATED ? 1 : Infinity;
}

/** The ceiling rises by one each half a minute, until it is higher than anybody wants. */
export function ceilingAt(breaker: Breaker, now: number): number {
  return breaker.ceiling + Math.max(0, Math.floor((now - breaker.ceilingAt) / CEILING_STEP_MS));
}
