import { describe, expect, it } from 'vitest';
import { storeContract } from '../../testing/store-contract.ts';
import { createMemoryStore } from './index.ts';

describe('the memory store', () => {
  for (const { name, run } of storeContract) {
    it(name, () => {
      const store = createMemoryStore();
      return run({ store, openAgain: async () => store.openAgain() });
    });
  }

  it('freezes what it returns, all the way down', async () => {
    const store = createMemoryStore();
    await store.appendEvents([{ at: 1, type: 'health.failed', cause: 'x', details: { inner: {} } }]);
    const [event] = await store.listEvents({});
    expect(Object.isFrozen(event)).toBe(true);
    expect(Object.isFrozen(event?.details?.inner)).toBe(true);
  });
});
