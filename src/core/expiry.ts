/** When a sandbox is due, and what is due: pure functions of policy, facts and time. */
import type { IdleAction, LifecyclePolicy } from './policy.ts';
import type { SandboxState } from './states.ts';

const MINUTE_MS = 60_000;

export interface ExpiryFacts {
  readonly state: SandboxState;
  readonly policy: LifecyclePolicy;
  readonly createdAt: number;
  readonly lastActiveAt: number;
}

export type DueAction = { readonly action: IdleAction; readonly reason: 'idle' | 'too-old' };

/** The instant at which policy will act next, or undefined when nothing limits the sandbox. The earliest limit wins. */
export function dueAt(facts: ExpiryFacts): number | undefined {
  const limits = [deadline(facts), idleLimit(facts)].filter((at): at is number => at !== undefined);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** What policy demands at `now`, or undefined. The hard deadline outranks idleness; a busy sandbox is not idle. */
export function dueAction(facts: ExpiryFacts, busy: boolean, now: number): DueAction | undefined {
  const hard = deadline(facts);
  if (hard !== undefined && now >= hard) return { action: 'destroy', reason: 'too-old' };
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
  const { autoStopMinutes, idleAction } = facts.policy;
  if (autoStopMinutes <= 0 || !isLimited(facts.state)) return undefined;
  if (facts.state !== 'running' && idleAction !== 'destroy') return undefined;
  return facts.lastActiveAt + autoStopMinutes * MINUTE_MS;
}
