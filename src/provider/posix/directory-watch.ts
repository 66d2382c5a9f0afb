/** Waits for something in a directory to become so, whoever makes it so. */
import { watch } from 'node:fs';
import type { Clock } from '../../core/clock.ts';
import { abortedError } from '../../core/errors.ts';

/** The death of a process makes no event in a directory, and some file systems make none at all. */
const POLL_MS = 250;

/** Checks now and after every change until the check gives a value. ABORTED when the signal aborts. */
export async function until<T>(
  dir: string,
  clock: Clock,
  check: () => Promise<T | undefined>,
  signal?: AbortSignal,
): Promise<T> {
  const first = await check();
  if (first !== undefined) return first;
  const changes = watchDirectory(dir);
  try {
    for (;;) {
      if (signal?.aborted === true) throw abortedError(signal);
      // Armed before the check, so that a change during the check is not missed.
      const change = changes.next();
      const value = await check();
      if (value !== undefined) return value;
      await firstOf(change, clock, signal);
    }
  } finally {
    changes.close();
  }
}

interface Changes {
  next(): Promise<void>;
  close(): void;
}

function watchDirectory(dir: string): Changes {
  let wake: () => void = () => undefined;
  const next = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  try {
    const watcher = watch(dir, { persistent: false }, () => wake());
    watcher.on('error', () => undefined);
    return { next, close: () => watcher.close() };
  } catch {
    // The directory is gone or the watches are used up: polling alone finds out.
    return { next, close: () => undefined };
  }
}

async function firstOf(change: Promise<void>, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  let cancel = (): void => undefined;
  let onAbort = (): void => undefined;
  await Promise.race([
    change,
    new Promise<void>((resolve) => {
      cancel = clock.schedule(POLL_MS, resolve);
      onAbort = resolve;
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
  ]);
  cancel();
  signal?.removeEventListener('abort', onAbort);
}
