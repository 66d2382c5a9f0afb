import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'vitest';
import type { Store } from '../../store/store.ts';
import { storeContract } from '../../testing/store-contract.ts';
import { openSqliteStore } from './index.ts';

describe('the SQLite store', () => {
  let directory: string;
  let opened: Store[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-store-'));
    opened = [];
  });

  afterEach(async () => {
    for (const store of opened) await store.close();
    await rm(directory, { recursive: true });
  });

  async function open(): Promise<Store> {
    const store = await openSqliteStore({ path: join(directory, 'sublet.db') });
    opened.push(store);
    return store;
  }

  for (const { name, run } of storeContract) {
    it(name, async () => run({ store: await open(), openAgain: open }));
  }
});
