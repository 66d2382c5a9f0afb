/** An idle time-out that follows the gaps between a session's own uses, within the bounds that policy gives. Pure. */
import type { LifecyclePolicy } from './policy.ts';

/** What is remembered of the gaps, however many there were. */
export interface GapSummary {
  readonly count: number;
  /** A gap that most are not longer than, recent ones weighing more. */
  readonly usualMs: number;
}

type IdlePolicy = Pick<LifecyclePolicy, 'autoStopMinutes' | 'autoStopMinMinutes' | 'autoStopMaxMinutes'>;

const MINUTE_MS = 60_000;
/** What is shorter is a pause within one use. */
const SHORTEST_GAP_MS = 30_000;
/** Before this many are known the policy's own time-out holds. */
const ENOUGH = 3;
/** How much longer than usual a gap may be before it is taken for the end. */
const PATIENCE = 3;
/** The share of gaps that are not longer than the usual one. */
const QUANTILE = 0.8;
/** How far one gap moves the estimate, as a logarithm: less and less at first, never less than the second. */
const STEP = 2;
const LEAST_WEIGHT = 0.15;
const MOST_COUNTED = 1_000;

export function isAdaptive({ autoStopMaxMinutes = 0 }: IdlePolicy): boolean {
  return autoStopMaxMinutes > 0;
}

/** The summary with one more gap in it. The estimate moves towards the gap and never past it. */
export function observeGap(gaps: GapSummary | undefined, gapMs: number): GapSummary | undefined {
  if (!(gapMs >= SHORTEST_GAP_MS)) return gaps;
  if (gaps === undefined) return { count: 1, usualMs: gapMs };
  const { count, usualMs } = gaps;
  const weight = Math.max(1 / (count + 1), LEAST_WEIGHT) * STEP;
  const usual =
    gapMs > usualMs
      ? Math.min(gapMs, usualMs * Math.exp(weight * QUANTILE))
      : Math.max(gapMs, usualMs * Math.exp(-weight * (1 - QUANTILE)));
  return { count: Math.min(count + 1, MOST_COUNTED), usualMs: usual };
}

/** How long the sandbox may be idle, in minutes. 0 = for ever. */
export function idleMinutes(policy: IdlePolicy, gaps: GapSummary | undefined): number {
  if (!isAdaptive(policy)) return policy.autoStopMinutes;
  const { autoStopMinutes, autoStopMinMinutes = 0, autoStopMaxMinutes = 0 } = policy;
  // Never is longer than any bound.
  const own = autoStopMinutes > 0 ? autoStopMinutes : Infinity;
  const wanted = isKnown(gaps) ? (gaps.usualMs * PATIENCE) / MINUTE_MS : own;
  return Math.min(Math.max(wanted, autoStopMinMinutes), autoStopMaxMinutes);
}

/** The longest that any gaps could make it. 0 = for ever. */
export function longestIdleMinutes(policy: IdlePolicy): number {
  return isAdaptive(policy) ? (policy.autoStopMaxMinutes ?? 0) : policy.autoStopMinutes;
}

/** The time-out and why it is that, in words. */
export function explainIdle(policy: IdlePolicy, gaps: GapSummary | undefined): string {
  const minutes = idleMinutes(policy, gaps);
  if (minutes <= 0) return 'never';
  const timeout = `${shown(minutes)} min`;
  if (!isAdaptive(policy)) return timeout;
  const bounds = `within ${shown(policy.autoStopMinMinutes ?? 0)}–${shown(policy.autoStopMaxMinutes ?? 0)}`;
  const why = isKnown(gaps)
    ? `${PATIENCE}× the usual gap of ${shown(gaps.usualMs / MINUTE_MS)} min`
    : 'too few gaps between uses to go by';
  return `${timeout}: ${why}, ${bounds}`;
}

function isKnown(gaps: GapSummary | undefined): gaps is GapSummary {
  return gaps !== undefined && gaps.count >= ENOUGH;
}

function shown(minutes: number): string {
  return String(Math.round(minutes * 10) / 10);
}
