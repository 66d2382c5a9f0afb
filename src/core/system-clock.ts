/** The machine's own time. */
import type { Clock } from './clock.ts';

// setTimeout takes no more than this and would fire at once.
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

// Not `performance`, which Node loads only when somebody asks for it.
function elapsedMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: elapsedMs,
  schedule(ms, callback, { ref = true } = {}) {
    const timer = setTimeout(callback, Math.min(ms, MAX_TIMEOUT_MS));
    if (!ref) timer.unref();
    return () => clearTimeout(timer);
  },
};
