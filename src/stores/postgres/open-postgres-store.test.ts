import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../../test/setup/postgres.ts';
import { requirement } from '../../../test/setup/requirements.ts';
import { storeContract } from '../../testing/store-contract.ts';
import { openPostgresStore } from './index.ts';
import { MIGRATIONS } from './schema.ts';

const SECRET = 'hunter2%2F%40';

describe('the URL of a Postgres store', () => {
  it.each([
    ['postgres//ada:hunter2@host/db', 'no scheme'],
    ['mysql://ada:hunter2@host/db', 'another scheme'],
    ['postgres://ada:hunter2@ho st/db', 'a space in the host'],
  ])('is refused when it is %s (%s), without showing it', async (url) => {
    const error = await failureOf(openPostgresStore({ url }));
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', hint: expect.stringContaining('%40') });
    expect(inspect(error, { depth: Infinity })).not.toContain('hunter2');
  });
});

describe('a Postgres server that is not there', () => {
  it('is STORE_FAILED with what to check, and without the password', async () => {
    const port = await unusedPort();
    const error = await failureOf(openPostgresStore({ url: `postgres://ada:${SECRET}@127.0.0.1:${port}/db` }));
    expect(error).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringMatching(`^The store postgres://ada@127.0.0.1:${port}/db did not answer: .*ECONNREFUSED`),
      hint: expect.stringContaining('Check host and port in SUBLET_STORE'),
    });
    expect(inspect(error, { depth: Infinity })).not.toContain('hunter2');
  });

  it('is STORE_FAILED when something accepts the connection and says nothing', async () => {
    const mute = createServer().listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    try {
      const error = await failureOf(
        openPostgresStore({ url: `postgres://127.0.0.1:${port}/db`, connectTimeoutMs: 50 }),
      );
      expect(error).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('timeout') });
    } finally {
      mute.close();
    }
  });
});

describe.runIf(await requirement('postgres'))('opening a Postgres store', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  beforeEach(async () => {
    await database.query('drop schema if exists sublet cascade');
  });

  function urlWith(change: (url: URL) => void): string {
    const url = new URL(database.url);
    change(url);
    return url.href;
  }

  it('makes the schema once when many open it at the same time', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => openPostgresStore({ url: database.url })));
    const ids = await Promise.all(stores.map((store) => store.installation()));
    expect(new Set(ids).size).toBe(1);
    expect(await database.query('select version from sublet.migrations order by 1')).toEqual(
      MIGRATIONS.map(({ version }) => ({ version })),
    );
    for (const store of stores) await store.close();
  });

  it('touches nothing outside its schema', async () => {
    await database.query('create table if not exists public.sandboxes (id text)');
    await (await openPostgresStore({ url: database.url })).close();
    const tables = await database.query(`select tablename from pg_tables where schemaname = 'public'`);
    expect(tables).toEqual([{ tablename: 'sandboxes' }]);
  });

  it('refuses a schema that a newer version wrote', async () => {
    await (await openPostgresStore({ url: database.url })).close();
    await database.query(`insert into sublet.migrations (version, name) values (99, 'later')`);
    expect(await failureOf(openPostgresStore({ url: database.url }))).toMatchObject({
      code: 'STORE_TOO_NEW',
      details: { found: 99 },
    });
  });

  it('refuses a wrong password with AUTH_FAILED, and shows none', async () => {
    const error = await failureOf(openPostgresStore({ url: urlWith((url) => (url.password = SECRET)) }));
    expect(error).toMatchObject({ code: 'AUTH_FAILED', hint: expect.stringContaining('PGPASSWORD') });
    expect(inspect(error, { depth: Infinity })).not.toContain('hunter2');
  });

  it('refuses a missing password with AUTH_FAILED', async () => {
    const error = await failureOf(openPostgresStore({ url: urlWith((url) => (url.password = '')) }));
    expect(error).toMatchObject({ code: 'AUTH_FAILED' });
  });

  it('says how to make a database that is not there', async () => {
    const error = await failureOf(openPostgresStore({ url: urlWith((url) => (url.pathname = '/nowhere')) }));
    expect(error).toMatchObject({ code: 'STORE_FAILED', hint: expect.stringContaining('createdb') });
  });

  it('says what an ordinary user needs who may not make the schema, and works once it is given', async () => {
    const user = `guest_${Math.random().toString(36).slice(2)}`;
    await database.query(`create role ${user} login password 'x'`);
    const url = urlWith((own) => {
      own.username = user;
      own.password = 'x';
    });
    try {
      const error = await failureOf(openPostgresStore({ url }));
      expect(error).toMatchObject({
        code: 'PERMISSION_DENIED',
        hint: expect.stringContaining('create schema sublet authorization'),
      });
      await database.query(`create schema sublet authorization ${user}`);
      const store = await openPostgresStore({ url });
      expect(await store.installation()).toMatch(/^ins_/);
      await store.close();
    } finally {
      await database.query(`drop schema if exists sublet cascade; drop role ${user}`);
    }
  });

  it('reports tables that are gone as damage', async () => {
    const store = await openPostgresStore({ url: database.url });
    await database.query('drop table sublet.counters');
    expect(await failureOf(store.counters())).toMatchObject({ code: 'STORE_CORRUPT' });
    await store.close();
  });

  it('keeps a text with NUL characters readable', async () => {
    const store = await openPostgresStore({ url: database.url });
    await store.appendEvents([{ at: 1, type: 'health.failed', cause: 'a\0b', details: { output: 'c\0d' } }]);
    const [event] = await store.listEvents({});
    expect(event?.cause).toBe('a\u{FFFD}b');
    expect(event?.details).toEqual({ output: 'c\0d' });
    await store.close();
  });

  it('finishes what is under way when it is closed, and refuses what comes after', async () => {
    const store = await openPostgresStore({ url: database.url });
    const underWay = store.installation();
    const closing = store.close();
    await expect(store.installation()).rejects.toMatchObject({ code: 'CLOSED' });
    expect(await underWay).toMatch(/^ins_/);
    await closing;
    await store.close();
    const sessions = await database.query(
      `select 1 from pg_stat_activity where datname = current_database() and application_name = 'sublet'`,
    );
    expect(sessions).toEqual([]);
  });

  it('keeps the contract with a single connection', async () => {
    const handles = await Promise.all(
      [1, 1].map((maxConnections) => openPostgresStore({ url: database.url, maxConnections })),
    );
    const [store, other] = handles;
    const races = storeContract.filter(({ name }) => name.startsWith('lets one of'));
    expect(races.length).toBeGreaterThan(5);
    for (const { run } of races) {
      if (store === undefined || other === undefined) throw new Error('not open');
      await run({ store, openAgain: async () => other });
      await database.empty();
    }
    for (const handle of handles) await handle.close();
  });
});

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error,
  );
}

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
