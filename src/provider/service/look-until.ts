/** Looking again, ever less often, until there is an answer. */
import { type Clock, sleep } from '../../core/clock.ts';
import { throwIfAborted } from '../../core/errors.ts';
import { abortable } from '../abortable.ts';

const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1000;

/** undefined when so many looks brought nothing. */
export async function lookUntil<T>(
  clock: Clock,
  look: () => Promise<T | undefined>,
  signal: AbortSignal,
  maxLooks: number = Number.POSITIVE_INFINITY,
): Promise<T | undefined> {
  let waitMs = FIRST_WAIT_MS;
  for (let looks = 0; looks < maxLooks; looks++) {
    const found = await abortable(look(), signal);
    if (found !== undefined) return found;
    await sleep(clock, waitMs, signal).catch(() => undefined);
    throwIfAborted(signal);
    waitMs = Math.min(waitMs * 1.3, MAX_WAIT_MS);
  }
  return undefined;
}
