/** The in-process manager keeps the manager contract: over the provider in memory, and over real processes. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'vitest';
import type { Sublet } from '../core/api.ts';
import { systemClock } from '../core/system-clock.ts';
import type { SandboxProvider } from '../provider/provider.ts';
import { provider as local } from '../providers/local/index.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { silentLog } from '../telemetry/log.ts';
import type { ManagerContractCase, ManagerNeed } from '../testing/index.ts';
import { FAULTY_CAPABILITIES, FaultyWorld, createFaultyPorts, managerContract } from '../testing/index.ts';
import { createManager } from './create-manager.ts';
import type { ManagerPorts } from './ports.ts';

// The provider in memory has a shell of a dozen words.
describe.each(casesFor(FAULTY_CAPABILITIES))('over the provider in memory', (testCase) => {
  it(testCase.name, async () => {
    const world = new FaultyWorld(systemClock);
    const store = createMemoryStore();
    await runCase(testCase, async () => createFaultyPorts(world, store));
  });
});

describe.runIf(process.platform === 'linux').each(casesFor([...local.capabilities, 'posix']))(
  'over real processes',
  (testCase) => {
    it(testCase.name, async () => {
      const stateDir = await mkdtemp(path.join(os.tmpdir(), 'sublet-manager-'));
      const store = createMemoryStore();
      const providers: SandboxProvider[] = [];
      try {
        await runCase(testCase, async () => {
          const provider = await local.open({
            stateDir,
            clock: systemClock,
            log: silentLog,
            options: {},
            secret: () => undefined,
          });
          providers.push(provider);
          const ports = createFaultyPorts(new FaultyWorld(systemClock), store, { id: 'local' });
          return { ...ports, provider: async () => provider };
        });
      } finally {
        await Promise.all(providers.map((provider) => provider.close()));
        await rm(stateDir, { recursive: true, force: true });
      }
    });
  },
);

function casesFor(abilities: readonly string[]): readonly ManagerContractCase[] {
  return managerContract.filter(({ needs = [] }) => needs.every((need: ManagerNeed) => abilities.includes(need)));
}

async function runCase(testCase: ManagerContractCase, ports: () => Promise<ManagerPorts>): Promise<void> {
  const opened: Sublet[] = [];
  const another = async (): Promise<Sublet> => {
    const manager = await createManager(await ports());
    opened.push(manager);
    return manager;
  };
  try {
    await testCase.run({ sublet: await another(), another });
  } finally {
    for (const manager of opened) await manager.destroyAllSessions().catch(() => 0);
    await Promise.all(opened.map((manager) => manager.close()));
  }
}
