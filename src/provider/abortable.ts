/** A wait that can be given up. What is waited for goes on; many SDKs take no signal. */
import { abortedError } from '../core/errors.ts';

export async function abortable<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    answer.catch(() => undefined);
    throw abortedError(signal);
  }
  let giveUp = (): void => undefined;
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = () => reject(abortedError(signal));
  });
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([answer, givenUp]);
  } finally {
    signal.removeEventListener('abort', giveUp);
    answer.catch(() => undefined);
  }
}
