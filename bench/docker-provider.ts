/** The built docker provider on the engine that is measured. */
import { tmpdir } from 'node:os';
import type { SandboxProvider, SandboxSpec } from 'sublet/provider';
import { provider as module } from 'sublet/providers/docker';
import { benchContext } from './provider-context.ts';
import type { EngineTarget } from './raw-engine.ts';

export async function openProvider(
  target: EngineTarget,
  options: Record<string, unknown> = {},
): Promise<SandboxProvider> {
  return module.open(benchContext(tmpdir(), { host: target.host, ...options }));
}

let made = 0;

export function specFor(target: EngineTarget, overrides: Partial<SandboxSpec> = {}): SandboxSpec {
  made++;
  const name = `sublet-bench-${process.pid}-${made}`;
  return { name, labels: {}, kind: 'execution', image: target.image, network: 'none', ephemeral: false, ...overrides };
}
