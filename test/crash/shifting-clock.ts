/** The machine's clock, but what comes later can be made to come now. */
import type { Clock } from 'sublet';

export interface ShiftingClock extends Clock {
  /** From now on it is this much later. What is scheduled comes no sooner. */
  shift(ms: number): void;
}

export function shiftingClock(): ShiftingClock {
  let shiftMs = 0;
  return {
    now: () => Date.now() + shiftMs,
    elapsed: () => performance.now() + shiftMs,
    shift: (ms) => void (shiftMs += ms),
    schedule(ms, callback, { ref = true } = {}) {
      const timer = setTimeout(callback, ms);
      if (!ref) timer.unref();
      return () => clearTimeout(timer);
    },
  };
}
