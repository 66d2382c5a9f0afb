/** The built docker provider on the engine that is measured. */
import { tmpdir } from 'node:os';
import type { SandboxProvider, SandboxSpec } from 'sublet/provider';
import { provider as module } from 'sublet/providers/docker';
import type { EngineTarget } from './raw-engine.ts';

export async function openProvider(
  target: EngineTarget,
  options: Record<string, unknown> = {},
): Promise<SandboxProvider> {
  const log = { debug() {}, info() {}, warn() {} };
  const clock = {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    schedule(ms: number, run: () => void, { ref = true }: { readonly ref?: boolean } = {}) {
      const timer = setTimeout(run, ms);
      if (!ref) timer.unref();
      return () => clearTimeout(timer);
    },
  };
  return module.open({
    stateDir: tmpdir(),
    clock,
    log,
    options: { host: target.host, ...options },
    secret: () => undefined,
  });
}

let made = 0;

export function specFor(target: EngineTarget, overrides: Partial<SandboxSpec> = {}): SandboxSpec {
  made++;
  const name = `sublet-bench-${process.pid}-${made}`;
  return { name, labels: {}, kind: 'execution', image: target.image, network: 'none', ephemeral: false, ...overrides };
}
