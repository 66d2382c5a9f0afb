/** A service of ours on loopback with namespaces of this machine behind it, ready to be spoken to. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/core/system-clock.ts';
import type { ProviderContext } from '../../src/provider/define-provider.ts';
import type { SandboxProvider } from '../../src/provider/provider.ts';
import { provider as namespace } from '../../src/providers/namespace/index.ts';

export interface LoopbackService {
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Opens what `make` makes; to be closed with all that is behind it by `close`. */
export async function serveNamespaces<Server extends LoopbackService>(
  make: (backing: SandboxProvider) => Server,
): Promise<{ readonly server: Server; close(): Promise<void> }> {
  const stateDir = await mkdtemp(join(tmpdir(), 'sublet-service-'));
  const backing = await namespace.open(providerContext({}, {}, stateDir));
  const server = make(backing);
  await server.open();
  return {
    server,
    close: async () => {
      await server.close();
      await backing.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

/** For an adapter that keeps nothing on this machine, unless it is given a place. */
export function providerContext(
  options: Readonly<Record<string, unknown>>,
  secrets: Readonly<Record<string, string>>,
  stateDir = '/nonexistent',
): ProviderContext {
  const log = { debug() {}, info() {}, warn() {} };
  return { stateDir, clock: systemClock, log, options, secret: (name) => secrets[name] };
}
