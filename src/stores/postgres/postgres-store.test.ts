import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../../test/setup/postgres.ts';
import { requirement } from '../../../test/setup/requirements.ts';
import type { Store } from '../../store/store.ts';
import { storeContract } from '../../testing/store-contract.ts';
import { openPostgresStore } from './index.ts';

describe.runIf(await requirement('postgres'))('the Postgres store', () => {
  let database: TestDatabase;
  let opened: Store[];

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  beforeEach(() => {
    opened = [];
  });

  afterEach(async () => {
    for (const store of opened) await store.close();
    await database.empty();
  });

  async function open(): Promise<Store> {
    const store = await openPostgresStore({ url: database.url });
    opened.push(store);
    return store;
  }

  for (const { name, run } of storeContract) {
    it(name, async () => run({ store: await open(), openAgain: open }));
  }
});
