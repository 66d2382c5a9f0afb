/** When a sandbox is due, and what is due: pure functions of policy, facts and time. */
import { type GapSummary, idleMinutes } from './adaptive-idle.ts';
import type { IdleAction, LifecyclePolicy } from './policy.ts';
import type { PoolTerms } from './pool-settings.ts';
import type { SandboxState } from './states.ts';

const MINUTE_MS = 60_000;

export interface ExpiryFacts {
  readonly state: SandboxState;
  readonly policy: LifecyclePolicy;
  readonly createdAt: number;
  readonly lastActiveAt: number;
  /** Between the uses before the last. */
  readonly gaps?: GapSummary | undefined;
  /** Of a pool's sandbox. */
  readonly terms?: PoolTerms | undefined;
  readonly lease?: { readonly expiresAt: number } | undefined;
}

/** `abandoned`: of a pool's sandbox, whoever had it let its lease end. */
export type DueAction = { readonly action: IdleAction; readonly reason: 'idle' | 'too-old' | 'abandoned' };

/** The instant at which policy will act next, or undefined when nothing limits the sandbox. The earliest limit wins. */
export function dueAt(facts: ExpiryFacts): number | undefined {
  const limits = [deadline(facts), idleLimit(facts), ...poolLimits(facts)].filter(
    (at): at is number => at !== undefined,
  );
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** What policy demands at `now`, or undefined. The hard deadline outranks idleness; a busy sandbox is not idle. */
export function dueAction(facts: ExpiryFacts, busy: boolean, now: number): DueAction | undefined {
  const hard = deadline(facts);
  if (hard !== undefined && now >= hard) return { action: 'destroy', reason: 'too-old' };
  if (facts.terms !== undefined) return duePooled(facts, facts.terms, busy, now);
  const idle = idleLimit(facts);
  if (idle !== undefined && !busy && now >= idle) return { action: facts.policy.idleAction, reason: 'idle' };
  return undefined;
}

// Before it is made the create's own timeout counts; once it is being destroyed or gone, nothing is left to limit.
function isLimited(state: SandboxState): boolean {
  return state === 'running' || state === 'paused' || state === 'stopped';
}

function deadline(facts: ExpiryFacts): number | undefined {
  const { autoDeleteMinutes } = facts.policy;
  return autoDeleteMinutes > 0 && isLimited(facts.state) ? facts.createdAt + autoDeleteMinutes * MINUTE_MS : undefined;
}

// A paused or stopped sandbox has already had its idle action, unless that action is to destroy it.
function idleLimit(facts: ExpiryFacts): number | undefined {
  if (facts.terms !== undefined) return undefined;
  const minutes = idleMinutes(facts.policy, facts.gaps);
  if (minutes <= 0 || !isLimited(facts.state)) return undefined;
  if (facts.state !== 'running' && facts.policy.idleAction !== 'destroy') return undefined;
  return facts.lastActiveAt + minutes * MINUTE_MS;
}

// While somebody has it only the end of the lease counts: the pool's limits are about what waits.
function poolLimits({ state, terms, lease, lastActiveAt }: ExpiryFacts): readonly (number | undefined)[] {
  if (terms === undefined || !isLimited(state)) return [];
  return lease === undefined ? [terms.expiresAt, lastActiveAt + terms.idleMs] : [lease.expiresAt];
}

function duePooled(facts: ExpiryFacts, terms: PoolTerms, busy: boolean, now: number): DueAction | undefined {
  if (!isLimited(facts.state) || busy) return undefined;
  if (facts.lease !== undefined)
    return now >= facts.lease.expiresAt ? { action: 'destroy', reason: 'abandoned' } : undefined;
  if (terms.expiresAt !== undefined && now >= terms.expiresAt) return { action: 'destroy', reason: 'too-old' };
  return now >= facts.lastActiveAt + terms.idleMs ? { action: 'destroy', reason: 'idle' } : undefined;
}
