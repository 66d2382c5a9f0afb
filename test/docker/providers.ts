/** Docker providers for one test file; what they made and they themselves are gone after each test. */
import { tmpdir } from 'node:os';
import { afterEach } from 'vitest';
import { systemClock } from '../../src/core/system-clock.ts';
import type { ProviderContext } from '../../src/provider/define-provider.ts';
import type { SandboxProvider, SandboxSpec } from '../../src/provider/provider.ts';
import { provider as module } from '../../src/providers/docker/index.ts';

export const signal: AbortSignal = new AbortController().signal;

const opened: SandboxProvider[] = [];
const made = new Set<string>();

export function contextFor(options: Readonly<Record<string, unknown>>): ProviderContext {
  const log = { debug() {}, info() {}, warn() {} };
  return { stateDir: tmpdir(), clock: systemClock, log, options, secret: () => undefined };
}

export async function openProvider(options: Readonly<Record<string, unknown>>): Promise<SandboxProvider> {
  const provider = await module.open(contextFor(options));
  opened.push(provider);
  return provider;
}

export function specFor(image: string, overrides: Partial<SandboxSpec> = {}): SandboxSpec {
  const name = `sublet-${crypto.randomUUID().slice(0, 13)}`;
  made.add(name);
  return { name, labels: {}, kind: 'execution', image, network: 'none', ephemeral: false, ...overrides };
}

afterEach(async () => {
  const names = [...made];
  made.clear();
  for (const provider of opened.splice(0)) {
    for (const name of names) await provider.destroy({ name }, signal);
    await provider.close();
  }
});
