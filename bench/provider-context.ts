/** What a built provider is opened with where it is measured by itself. */
import type { ProviderContext } from 'sublet/provider';

export function benchContext(stateDir: string, options: Record<string, unknown> = {}): ProviderContext {
  return {
    stateDir,
    clock: {
      now: () => Date.now(),
      elapsed: () => performance.now(),
      schedule(ms, run, { ref = true } = {}) {
        const timer = setTimeout(run, ms);
        if (!ref) timer.unref();
        return () => clearTimeout(timer);
      },
    },
    log: { debug() {}, info() {}, warn() {} },
    options,
    secret: () => undefined,
  };
}
