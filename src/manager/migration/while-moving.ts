/** Work that may take as long as it likes while something moves, and is given up when nothing does. */
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import { followSignals } from '../deadline.ts';

export interface Patience {
  /** How long nothing may move. */
  readonly ms: number;
  readonly signals: readonly (AbortSignal | undefined)[];
  /** Called now and then while something moves. */
  readonly onMoving: () => void;
}

/** Rejects with FILE_FAILED when `moved` was not called for so long, whether or not `work` notices. */
export async function whileMoving<T>(
  clock: Clock,
  { ms, signals, onMoving }: Patience,
  work: (signal: AbortSignal, moved: () => void) => Promise<T>,
): Promise<T> {
  const still = new AbortController();
  let movedAt = clock.elapsed();
  let toldAt = movedAt;
  let cancel = (): void => {};
  const watch = (): void => {
    const leftMs = movedAt + ms - clock.elapsed();
    if (leftMs <= 0) still.abort(stoodStill(ms));
    else cancel = clock.schedule(leftMs, watch);
  };
  const moved = (): void => {
    movedAt = clock.elapsed();
    if (movedAt - toldAt < ms / 4) return;
    toldAt = movedAt;
    onMoving();
  };
  watch();
  try {
    return await followSignals([still.signal, ...signals], (signal) => work(signal, moved));
  } finally {
    cancel();
  }
}

/** The same, and `moved` is called with each part. */
export async function* telling<T>(parts: AsyncIterable<T>, moved: () => void): AsyncGenerator<T, void, void> {
  for await (const part of parts) {
    moved();
    yield part;
  }
}

function stoodStill(ms: number): SubletError {
  return new SubletError('FILE_FAILED', `Nothing was carried over for ${ms / 60_000} minutes.`, {
    hint: 'Look whether both providers answer, then try again.',
  });
}
