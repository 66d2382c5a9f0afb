import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../../test/setup/postgres.ts';
import { PostgresServer, type Ending } from '../../../test/setup/postgres-server.ts';
import { requirement } from '../../../test/setup/requirements.ts';
import type { Store } from '../../store/store.ts';
import { moveTo, sandboxIn, sandboxRow, sessionRow, T0 } from '../../testing/store-contract/rows.ts';
import { openPostgresStore } from './index.ts';

const STORES = 8;
const KEY = 'execution:u:t';

describe.runIf(await requirement('postgres'))('eight Postgres stores, each with a pool of its own', () => {
  let database: TestDatabase;
  let stores: readonly Store[];
  let first: Store;

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  beforeEach(async () => {
    first = await openPostgresStore({ url: database.url });
    const others = Array.from({ length: STORES - 1 }, () =>
      openPostgresStore({ url: database.url, maxConnections: 2 }),
    );
    stores = [first, ...(await Promise.all(others))];
  });

  afterEach(async () => {
    for (const store of stores) await store.close();
    await database.empty();
  });

  /** What each store makes of it, all at once, several times each. */
  function race<T>(times: number, attempt: (store: Store, index: number) => Promise<T>): Promise<readonly T[]> {
    return Promise.all(
      Array.from({ length: STORES * times }, (_, index) => attempt(stores[index % STORES] ?? first, index)),
    );
  }

  it('bind a key once, also while others unbind it', async () => {
    const results = await race(6, async (store) => {
      const { won, bound } = await store.claimSession(sessionRow(KEY), sandboxRow());
      const unbound = await store.removeSession(KEY, bound.sandbox.id, 'done', T0);
      return { won, unbound };
    });
    const events = await first.listEvents({});
    const count = (type: string): number => events.filter((event) => event.type === type).length;
    expect(results.filter(({ won }) => won)).toHaveLength(count('session.created'));
    expect(results.filter(({ unbound }) => unbound)).toHaveLength(count('session.removed'));
    expect(count('session.created')).toBe(count('session.removed'));
    expect(await first.getSession(KEY)).toBeUndefined();
  });

  it('tighten a session that others re-bind, and no sandbox of it is left open', async () => {
    await first.claimSession(sessionRow(KEY), sandboxRow());
    await race(3, async (store, index) => {
      const bound = await store.getSession(KEY);
      if (index % 2 === 0) return store.replaceSandbox(KEY, bound?.sandbox.id ?? '', sandboxRow());
      expect(await store.tightenSession(KEY, 'none', 'customer data read', T0)).toBeDefined();
      return undefined;
    });
    const bound = await first.getSession(KEY);
    expect([bound?.session.network, bound?.sandbox.network]).toEqual(['none', 'none']);
  });

  it('hand a lease around, one holder at a time, with tokens that only grow', async () => {
    const { id } = await sandboxIn(first, 'running');
    const tokens = await race(4, async (store, index) => {
      for (;;) {
        const leased = await store.leases.acquire(id, { holder: 'h', ownerId: `own_${index}`, ttlMs: 1e9, at: T0 });
        const token = leased?.lease?.token;
        if (token === undefined) continue;
        expect(await store.leases.release(id, token, 'done', T0)).toBeDefined();
        return token;
      }
    });
    expect([...tokens].toSorted((a, b) => a - b)).toEqual(Array.from({ length: STORES * 4 }, (_, index) => index + 1));
  });

  it('show every event to a reader who continues after the last one seen', async () => {
    let isWriting = true;
    const seen: number[] = [];
    const reading = (async () => {
      for (let after = 0, isLast = false; ;) {
        const page = await first.listEvents({ after, limit: 7 });
        seen.push(...page.map((event) => Number(event.cause)));
        after = page.at(-1)?.seq ?? after;
        if (page.length === 0 && isLast) return;
        isLast = page.length === 0 && !isWriting;
      }
    })();
    await race(20, (store, index) => store.appendEvents([{ at: T0, type: 'health.failed', cause: String(index) }]));
    isWriting = false;
    await reading;
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: STORES * 20 }, (_, index) => index));
  });
});

describe.runIf(await requirement('postgres'))('a Postgres server that restarts', () => {
  it.each<Ending>(['fast', 'crash'])('in the middle of work (%s) costs no change and no error', async (ending) => {
    const server = await PostgresServer.start();
    const stores = await Promise.all([1, 2, 3].map(() => openPostgresStore({ url: server.url('postgres') })));
    const [first] = stores;
    if (first === undefined) throw new Error('not open');
    try {
      let done = 0;
      const work = Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          const store = stores[index % stores.length] ?? first;
          const { id } = await store.insertSandbox(sandboxRow());
          await store.moveSandbox(id, moveTo('running'));
          await store.addToCounters([{ kind: 'app', name: 'created', value: 1 }]);
          done += 1;
        }),
      );
      while (done < 5) await new Promise((resolve) => setTimeout(resolve, 1));
      await server.end(ending);
      const doneBefore = done;
      await server.begin();
      await work;
      expect(doneBefore).toBeLessThan(60);
      expect(await first.findSandboxes({ states: ['running'] })).toHaveLength(60);
      expect(await first.counters()).toEqual([{ kind: 'app', name: 'created', value: 60 }]);
      expect((await first.listEvents({})).filter((event) => event.type === 'sandbox.running')).toHaveLength(60);
    } finally {
      for (const store of stores) await store.close();
      await server.remove();
    }
  });
});
