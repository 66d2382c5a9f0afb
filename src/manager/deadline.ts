/** Waiting with an end: work that follows several signals and a clock, and settles even when the work ignores them. */
import type { Clock } from '../core/clock.ts';
import type { SubletError } from '../core/errors.ts';
import { abortedError } from '../core/errors.ts';
import { letManyFollow } from './shared-signal.ts';

export interface Deadline {
  readonly ms: number;
  /** The error when time is up. Made late, so that it can say what was being waited for. */
  readonly late: () => SubletError;
  readonly signals?: readonly (AbortSignal | undefined)[] | undefined;
}

/**
 * Runs `work` with a signal that fires with any of `signals` or after `ms`, and rejects then, whether or not `work` has
 * noticed. The caller that must know when `work` is really over keeps its promise.
 */
export async function withDeadline<T>(
  clock: Clock,
  deadline: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const cancel = clock.schedule(deadline.ms, () => controller.abort(deadline.late()));
  try {
    return await follow(controller, deadline.signals ?? [], work);
  } finally {
    cancel();
  }
}

/** As `withDeadline`, with no end in time. Unlike `AbortSignal.any` it leaves nothing on a parent that lives on. */
export function followSignals<T>(
  parents: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return follow(new AbortController(), parents, work);
}

async function follow<T>(
  controller: AbortController,
  parents: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const letGo = abortWith(controller, parents);
  try {
    controller.signal.throwIfAborted();
    return await untilAborted(work(controller.signal), controller.signal);
  } finally {
    letGo();
  }
}

/** The controller aborts with any of them, at once with one that already has. The returned function leaves nothing on them. */
export function abortWith(controller: AbortController, parents: readonly (AbortSignal | undefined)[]): () => void {
  const onAbort = (event: Event): void => controller.abort(abortedError(event.target as AbortSignal));
  for (const parent of parents) {
    if (parent?.aborted === true) controller.abort(abortedError(parent));
    letManyFollow(parent);
    parent?.addEventListener('abort', onAbort, { once: true });
  }
  return () => {
    for (const parent of parents) parent?.removeEventListener('abort', onAbort);
  };
}

/** The promise, or a rejection as soon as the signal fires. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortedError(signal));
    if (signal.aborted) onAbort();
    letManyFollow(signal);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** True when the promise settled, either way, within `ms`. */
export function settlesWithin(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.schedule(ms, () => resolve(false));
    const settled = (): void => {
      cancel();
      resolve(true);
    };
    promise.then(settled, settled);
  });
}
