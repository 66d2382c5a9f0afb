import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../../test/setup/postgres.ts';
import { requirement } from '../../../test/setup/requirements.ts';
import { TcpProxy, type Verdict } from '../../../test/setup/tcp-proxy.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { Store } from '../../store/store.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { moveTo, sandboxIn, sandboxRow, sessionRow, T0 } from '../../testing/store-contract/rows.ts';
import { Connections } from './connections.ts';
import { loadConnect } from './driver.ts';
import { Pool } from './pool.ts';
import { openPostgresStore, type PostgresStoreOptions } from './index.ts';

const COMMIT = Buffer.from('commit\0');

/** Made and its answer lost, lost itself, or without an end that either side is told of. */
const VERDICTS: readonly Verdict[] = ['pass and cut', 'cut', 'swallow'];

describe.runIf(await requirement('postgres'))('a Postgres store whose connections fail', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let opened: Store[];

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  beforeEach(async () => {
    proxy = await TcpProxy.start(Number(new URL(database.url).port));
    opened = [];
  });

  afterEach(async () => {
    proxy.refuses = false;
    for (const store of opened) await store.close();
    await proxy.close();
    await database.empty();
  });

  async function open(options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const store = await openPostgresStore({ url: url.href, ...options });
    opened.push(store);
    return store;
  }

  /** The next commit, and only that one, meets this. */
  function atNextCommit(verdict: Verdict): void {
    proxy.judge = (sent) => {
      if (!sent.includes(COMMIT)) return 'pass';
      proxy.judge = () => 'pass';
      return verdict;
    };
  }

  async function created(): Promise<number> {
    const [row] = await database.query('select coalesce(sum(value), 0)::integer as total from sublet.counters');
    return row?.['total'] as number;
  }

  it.each(VERDICTS)('makes a change once whose commit met "%s"', async (verdict) => {
    const store = await open({ queryTimeoutMs: 500 });
    atNextCommit(verdict);
    await store.addToCounters([{ kind: 'app', name: 'created', value: 1 }]);
    expect(await created()).toBe(1);
  });

  it.each(VERDICTS)('tells the winner of a claim that it won, when its commit met "%s"', async (verdict) => {
    const store = await open({ queryTimeoutMs: 500 });
    atNextCommit(verdict);
    const sandbox = sandboxRow();
    const { won, bound } = await store.claimSession(sessionRow('app:u:t'), sandbox);
    expect(won).toBe(true);
    expect(bound.sandbox.id).toBe(sandbox.id);
    expect((await store.listEvents({})).map((event) => event.type)).toEqual(['sandbox.creating', 'session.created']);
  });

  it.each(VERDICTS)('tells the mover that it moved, when its commit met "%s"', async (verdict) => {
    const store = await open({ queryTimeoutMs: 500 });
    const { id } = await sandboxIn(store, 'running');
    atNextCommit(verdict);
    expect((await store.moveSandbox(id, moveTo('paused')))?.state).toBe('paused');
    const moves = (await store.listEvents({ sandboxId: id })).filter((event) => event.type === 'sandbox.paused');
    expect(moves).toHaveLength(1);
  });

  it('says that the outcome is not known when the server stays away after a commit', async () => {
    const clock = new ManualClock();
    const store = await open({ clock });
    proxy.judge = (sent) => {
      if (!sent.includes(COMMIT)) return 'pass';
      proxy.refuses = true;
      return 'pass and cut';
    };
    const change = passing(clock, store.addToCounters([{ kind: 'app', name: 'created', value: 1 }]));
    await expect(change).rejects.toMatchObject({
      code: 'STORE_FAILED',
      details: { outcome: 'unknown' },
      hint: expect.stringContaining('look before repeating'),
    });
    expect(await created()).toBe(1);
  });

  it('gives up on a server that stays away, and works again when it is back', async () => {
    const clock = new ManualClock();
    const store = await open({ clock });
    const installation = await store.installation();
    proxy.refuses = true;
    proxy.judge = () => 'cut';
    await expect(passing(clock, store.installation())).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('did not answer'),
    });
    proxy.refuses = false;
    proxy.judge = () => 'pass';
    expect(await store.installation()).toBe(installation);
  });

  it('takes a server that is silent for lost, and asks again over another connection', async () => {
    const store = await open({ queryTimeoutMs: 200 });
    const installation = await store.installation();
    let swallowed = 0;
    proxy.judge = () => {
      swallowed += 1;
      proxy.judge = () => 'pass';
      return 'swallow';
    };
    expect(await store.installation()).toBe(installation);
    expect(swallowed).toBe(1);
  });

  it('loses no change when its sessions are ended at the server, again and again', async () => {
    const store = await open();
    const { id } = await sandboxIn(store, 'running');
    let done = 0;
    const work = Promise.all(
      Array.from({ length: 25 }, async (_, index) => {
        await store.addToCounters([{ kind: 'app', name: 'created', value: 1 }]);
        await store.touch([{ sandboxId: id, lastActiveAt: T0 + index, dueAt: undefined }]);
        await store.appendEvents([{ at: T0, type: 'health.failed', cause: String(index) }]);
        done += 1;
      }),
    );
    let ended = 0;
    // Each time when some more is done, so that a slow machine gets there too.
    for (let next = 0; next < 25; next = done + 2) {
      const rows = await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and application_name = 'sublet'`,
      );
      ended += rows.length;
      while (done < Math.min(next + 1, 25)) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await work;
    expect(ended).toBeGreaterThan(0);
    expect(await created()).toBe(25);
    const causes = (await store.listEvents({})).filter((event) => event.type === 'health.failed');
    expect(causes.map((event) => Number(event.cause)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 25 }, (_, index) => index),
    );
  });

  it('has the server end a transaction whose process stands still, and one that waits too long', async () => {
    const connect = await loadConnect({ url: database.url, connectTimeoutMs: 5000, queryTimeoutMs: 5000 });
    await (await open()).installation();
    const connections = new Connections('here', new Pool(connect), 1, systemClock);
    const limits = await connections.transaction((db) =>
      db.rows(`select name, setting::integer from pg_settings where setting <> '0' and name in
        ('idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout') order by name`),
    );
    const after = await connections.read((db) => db.rows(`select current_setting('lock_timeout')`));
    await connections.close();
    expect(limits).toEqual([
      ['idle_in_transaction_session_timeout', 10_000],
      ['lock_timeout', 3000],
      ['statement_timeout', 10_000],
    ]);
    expect(after).toEqual([['0']]);
  });

  it('forgets the marks of commits that nobody asks about any more', async () => {
    const store = await open();
    await store.addToCounters([{ kind: 'app', name: 'created', value: 1 }]);
    await database.query(`update sublet.commits set at = now() - interval '1 hour'`);
    await store.addToCounters([{ kind: 'app', name: 'created', value: 1 }]);
    await store.pruneEvents(1000);
    const [row] = await database.query(
      `select count(*)::integer as old from sublet.commits where at < now() - interval '5 minutes'`,
    );
    expect(row).toEqual({ old: 0 });
    expect((await database.query('select 1 from sublet.commits')).length).toBeGreaterThan(0);
  });

  it('is the victim of a deadlock, and does its work after it', async () => {
    await database.query(
      `alter role sublet in database "${new URL(database.url).pathname.slice(1)}" set deadlock_timeout = '20ms'`,
    );
    const store = await open();
    for (const id of ['sbx_a', 'sbx_b']) await sandboxIn(store, 'running', { id });
    await database.query(`set deadlock_timeout = '60s'`);
    await database.query('begin');
    await database.query(`select 1 from sublet.sandboxes where id = 'sbx_b' for update`);
    const touched = store.touch(
      ['sbx_a', 'sbx_b'].map((sandboxId) => ({ sandboxId, lastActiveAt: T0 + 5000, dueAt: undefined })),
    );
    await waitFor(() => database.query(`select 1 from pg_locks where not granted`));
    // Waits for the store, which waits for this transaction: one of the two must give way, and it is not this one.
    await database.query(`select 1 from sublet.sandboxes where id = 'sbx_a' for update`);
    await database.query('commit');
    await touched;
    expect((await store.getSandbox('sbx_a'))?.lastActiveAt).toBe(T0 + 5000);
    expect((await store.getSandbox('sbx_b'))?.lastActiveAt).toBe(T0 + 5000);
  });

  it('repeats a transaction that the server could not put in order with others', async () => {
    const store = await open();
    await database.query(`create sequence public.attempts;
      create function public.refuse_some() returns trigger language plpgsql as $$ begin
        if nextval('public.attempts') <= 3 then raise exception 'not in this order' using errcode = '40001'; end if;
        return new;
      end $$;
      create trigger refuse_some before insert on sublet.counters for each row execute function public.refuse_some()`);
    try {
      await store.addToCounters([{ kind: 'app', name: 'created', value: 1 }]);
      expect(await created()).toBe(1);
      expect(await database.query('select last_value::integer as count from public.attempts')).toEqual([{ count: 4 }]);
    } finally {
      await database.query(`drop trigger refuse_some on sublet.counters; drop function public.refuse_some;
        drop sequence public.attempts`);
    }
  });

  it('says STORE_BUSY when a row stays locked, and has changed nothing', async () => {
    const clock = new ManualClock();
    const store = await open({ clock });
    const before = await sandboxIn(store, 'running');
    await database.query('begin');
    await database.query(`select 1 from sublet.sandboxes for update`);
    const moving = store.moveSandbox(before.id, moveTo('paused')).catch((error: unknown) => error);
    await waitFor(() => database.query(`select 1 from pg_locks where not granted`));
    await clock.advance(20_000);
    // In place of the server's lock time-out, which takes longer.
    await database.query(
      `select pg_cancel_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(await moving).toMatchObject({ code: 'STORE_BUSY', hint: expect.stringContaining('pg_stat_activity') });
    await database.query('rollback');
    expect(await store.getSandbox(before.id)).toEqual(before);
  });
});

/** The promise, while the clock's time passes as fast as it can. */
async function passing<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isDone = false;
  const done = promise.finally(() => (isDone = true));
  done.catch(() => undefined);
  while (!isDone) {
    await clock.advance(100);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return done;
}

async function waitFor(rows: () => Promise<readonly unknown[]>): Promise<void> {
  while ((await rows()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
