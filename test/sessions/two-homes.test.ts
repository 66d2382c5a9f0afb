/** Two homes on one machine that share a store: each sees to its own sandboxes, and to none of the other's. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Sublet } from '../../src/core/api.ts';
import { open } from '../../src/open.ts';
import type { Store } from '../../src/store/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { canRun } from '../isolation/world.ts';

const KEY = { user: 'ada', task: 'thesis', sandbox: 'namespace' } as const;
const homes: string[] = [];
const opened: Sublet[] = [];

afterEach(async () => {
  for (const sublet of opened.splice(0)) {
    await sublet.destroyAllSessions().catch(() => undefined);
    await sublet.close();
  }
  for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true, maxRetries: 5 });
});

async function inNewHome(store: Store): Promise<Sublet> {
  const home = await mkdtemp(join(tmpdir(), 'sublet-homes-'));
  homes.push(home);
  // Each closes the store it was given; the last one is to close it here.
  const shared = new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (name === 'close') return async () => undefined;
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  const sublet = await open({ home, store: shared, watchdog: false, handleSignals: false });
  opened.push(sublet);
  return sublet;
}

describe.runIf(canRun)('a sandbox in another home of this machine', () => {
  it('is neither used nor taken for lost', async () => {
    const store = createMemoryStore();
    const [here, there] = [await inNewHome(store), await inNewHome(store)];
    const session = await there.session(KEY);
    await session.files.write('note', 'kept');
    await expect(here.session(KEY)).rejects.toMatchObject({ code: 'WRONG_HOST' });
    await expect(here.sandboxes.destroy(session.sandboxId)).rejects.toMatchObject({ code: 'WRONG_HOST' });
    expect((await store.getSandbox(session.sandboxId))?.state).toBe('running');
    expect(await (await there.session(KEY)).files.readText('note')).toBe('kept');
  });
});
