/** The in-process manager keeps the manager contract. */
import { describe, it } from 'vitest';
import type { Sublet } from '../core/api.ts';
import type { Clock } from '../core/clock.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import type { ManagerNeed } from '../testing/index.ts';
import { FaultyWorld, createFaultyPorts, managerContract } from '../testing/index.ts';
import { createManager } from './create-manager.ts';

const clock: Clock = {
  now: () => Date.now(),
  schedule(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

// The faulty provider's shell knows a dozen words and no language.
const LACKS: readonly ManagerNeed[] = ['interpreters'];
const cases = managerContract.filter(({ needs }) => needs?.some((need) => LACKS.includes(need)) !== true);

describe('the in-process manager', () => {
  it.each(cases.map((testCase) => [testCase.name, testCase] as const))('%s', async (_, testCase) => {
    const world = new FaultyWorld(clock);
    const store = createMemoryStore();
    const opened: Sublet[] = [];
    const another = async (): Promise<Sublet> => {
      const manager = await createManager(createFaultyPorts(world, store));
      opened.push(manager);
      return manager;
    };
    try {
      await testCase.run({ sublet: await another(), another });
    } finally {
      await Promise.all(opened.map((manager) => manager.close()));
    }
  });
});
