/** Something done again and again, never twice at once, without keeping the process alive. */
import type { Clock } from '../core/clock.ts';

/** Waits `ms` between the end of one run and the start of the next. `task` must not reject. The returned function ends it. */
export function repeat(clock: Clock, ms: number, task: () => Promise<unknown>): () => void {
  if (ms <= 0) return () => {};
  let isOver = false;
  let cancel = (): void => {};
  const next = (): void => {
    if (isOver) return;
    cancel = clock.schedule(ms, () => void task().finally(next), { ref: false });
  };
  next();
  return () => {
    isOver = true;
    cancel();
  };
}
