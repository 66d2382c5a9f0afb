/** A command's time-out and abort count from the call: also while it waits for what will run it. */
import type { Clock } from '../../core/clock.ts';
import type { CommandResult, RunOptions } from '../../core/commands.ts';
import { abortedError } from '../../core/errors.ts';

export interface InTime<T> {
  /** Called with what was got and the time that is left. */
  run(got: T, options: RunOptions): Promise<CommandResult>;
  /** Called with what came too late. */
  discard(late: T): void;
}

/** ABORTED when the signal came first; `timedOut` when the time was over first. The getting itself goes on. */
export async function runInTime<T>(
  getting: Promise<T>,
  options: RunOptions,
  clock: Clock,
  use: InTime<T>,
): Promise<CommandResult> {
  const { signal, timeoutMs } = options;
  if (signal === undefined && timeoutMs === undefined) return use.run(await getting, options);
  const startedAt = clock.elapsed();
  let cancel = (): void => undefined;
  let onAbort = (): void => undefined;
  const over = new Promise<'timedOut'>((resolve, reject) => {
    onAbort = () => reject(abortedError(signal as AbortSignal));
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    if (timeoutMs !== undefined) cancel = clock.schedule(timeoutMs, () => resolve('timedOut'));
  });
  let got: T | 'timedOut' = 'timedOut';
  try {
    got = await Promise.race([getting, over]);
  } finally {
    cancel();
    signal?.removeEventListener('abort', onAbort);
    if (got === 'timedOut') getting.then((late) => use.discard(late)).catch(() => undefined);
  }
  const tookMs = clock.elapsed() - startedAt;
  if (got === 'timedOut') return neverBegan(tookMs);
  return use.run(got, timeoutMs === undefined ? options : { ...options, timeoutMs: Math.max(0, timeoutMs - tookMs) });
}

function neverBegan(durationMs: number): CommandResult {
  return {
    exitCode: null,
    stdout: '',
    stderr: '',
    durationMs: Math.round(durationMs),
    timedOut: true,
    truncated: false,
    stdoutBytes: 0,
    stderrBytes: 0,
  };
}
