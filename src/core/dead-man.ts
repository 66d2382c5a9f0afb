/** What a provider does by itself if nobody speaks to it: how long that is for a policy, and when it is to be moved on. */
import { longestIdleMinutes } from './adaptive-idle.ts';
import type { LifecyclePolicy } from './policy.ts';

/** Longer than ours, so that the provider acts only when nobody is left to do it. */
const MARGIN_MS = 5 * 60_000;
/** For what policy does not limit, at a provider that limits it all the same. */
const UNLIMITED_MS = 60 * 60_000;

/** undefined when nothing limits the sandbox. */
export function deadManMs(policy: LifecyclePolicy): number | undefined {
  const idle = longestIdleMinutes(policy);
  const minutes = idle > 0 ? idle : policy.autoDeleteMinutes;
  return minutes > 0 ? minutes * 60_000 + MARGIN_MS : undefined;
}

export interface DeadMan {
  readonly policy: LifecyclePolicy;
  readonly lastActiveAt: number;
  /** When the provider acts, as far as it said. */
  readonly deadManAt: number | undefined;
  /** When the provider was last told, by this process. */
  readonly toldAt: number | undefined;
}

/**
 * How far from `now` the provider's deadline is to be, or undefined while it is far enough. It is told rarely: a provider
 * that grants less than was asked for is not asked at every look, but it is before the half of what it granted is over.
 */
export function extensionMs({ policy, lastActiveAt, deadManAt, toldAt }: DeadMan, now: number): number | undefined {
  if (deadManAt === undefined) return undefined;
  const wantedMs = deadManMs(policy) ?? UNLIMITED_MS;
  // What is idle is left to run out, a little after policy would have acted.
  const wantedAt = (deadManMs(policy) === undefined ? now : lastActiveAt) + wantedMs;
  if (wantedAt - deadManAt <= MARGIN_MS / 2) return undefined;
  const grantedMs = toldAt === undefined ? 0 : deadManAt - toldAt;
  const pauseMs = Math.min(MARGIN_MS / 2, Math.max(0, grantedMs / 2));
  if (toldAt !== undefined && now - toldAt < pauseMs) return undefined;
  return Math.max(0, wantedAt - now);
}
