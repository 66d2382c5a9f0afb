/** Lifecycle policy: one model of time for every provider. */
import type { SandboxKind } from './session-key.ts';

export type IdleAction = 'pause' | 'stop' | 'destroy';
export type ExitAction = 'pause' | 'destroy' | 'keep';
export type LostAction = 'fail' | 'recreate' | 'restore';

export interface LifecyclePolicy {
  /** Idle this long: `idleAction`. 0 = never. */
  readonly autoStopMinutes: number;
  /** Where the second is not 0, the idle time-out follows the gaps between the session's uses, within these two. */
  readonly autoStopMinMinutes?: number | undefined;
  readonly autoStopMaxMinutes?: number | undefined;
  readonly idleAction: IdleAction;
  /** Total age: destroyed in any state. 0 = never. */
  readonly autoDeleteMinutes: number;
  readonly onExit: ExitAction;
  readonly onLost: LostAction;
  /** How long a create may take. */
  readonly timeoutSeconds: number;
  readonly healthCheck: boolean;
}

export const DEFAULT_POLICY: LifecyclePolicy = Object.freeze({
  autoStopMinutes: 60,
  autoStopMinMinutes: 0,
  autoStopMaxMinutes: 0,
  idleAction: 'destroy',
  autoDeleteMinutes: 0,
  onExit: 'pause',
  onLost: 'recreate',
  timeoutSeconds: 180,
  healthCheck: true,
});

const IDLE_MINUTES_BY_KIND: Readonly<Record<SandboxKind, number>> = { execution: 10, desktop: 15, app: 30 };

/** Defaults for a kind of session; a profile or a call overrides single fields. */
export function defaultPolicy(kind: SandboxKind): LifecyclePolicy {
  return { ...DEFAULT_POLICY, autoStopMinutes: IDLE_MINUTES_BY_KIND[kind] };
}

export const HEALTH_CHECK_TIMEOUT_MS = 5_000;
export const HEALTH_CHECK_FRESH_MS = 30_000;

/** A sandbox that answered in the last 30 seconds is not asked again. */
export function needsHealthCheck(policy: LifecyclePolicy, lastHealthyAt: number | undefined, now: number): boolean {
  const isFresh = lastHealthyAt !== undefined && now >= lastHealthyAt && now - lastHealthyAt < HEALTH_CHECK_FRESH_MS;
  return !isFresh && policy.healthCheck;
}
