import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BUSY, ROUNDS, sandbox, T0, TICKET } from './contention.fixture.ts';
import type { Contention } from './contention.fixture.ts';
import { openSqliteStore } from './index.ts';

const PROCESSES = 4;

describe('several processes on one SQLite store', () => {
  let directory: string;
  let path: string;
  let children: ChildProcess[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-processes-'));
    path = join(directory, 'sublet.db');
    children = [];
  });

  afterEach(async () => {
    for (const child of children) await end(child);
    await rm(directory, { recursive: true });
  });

  function start(...args: readonly string[]): { child: ChildProcess; lines: AsyncIterator<string> } {
    const fixture = join(import.meta.dirname, 'contender.fixture.ts');
    const child = spawn(process.execPath, ['--import', 'tsx', fixture, ...args], {
      cwd: import.meta.dirname,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  }

  it('have one winner for every key and every move, and lose no update', async () => {
    const store = await openSqliteStore({ path });
    const running = { to: 'running', at: T0, cause: 'ready', ownerId: 'own_0' } as const;
    const shared = Array.from({ length: ROUNDS }, (_, round) => `sbx_shared${round}`);
    for (const id of [TICKET, BUSY, ...shared]) {
      await store.insertSandbox(sandbox(id));
      await store.moveSandbox(id, running);
    }

    const contenders = Array.from({ length: PROCESSES }, (_, place) => start('contend', path, String(place)));
    for (const { lines } of contenders) expect((await lines.next()).value).toBe('ready');
    for (const { child } of contenders) child.stdin?.write('go\n');
    const results = await Promise.all(
      contenders.map(async ({ lines }) => JSON.parse(String((await lines.next()).value)) as Contention),
    );

    expect(new Set(results.map((result) => result.installation))).toEqual(new Set([await store.installation()]));
    const claims = results.flatMap((result) => Object.entries(result.claimed));
    expect(claims).toHaveLength(ROUNDS);
    for (const result of results) expect(result.seen).toEqual(Object.fromEntries(claims));
    expect(await store.findSandboxes({ states: ['creating'] })).toHaveLength(ROUNDS);

    expect(results.flatMap((result) => result.moved).toSorted()).toEqual(shared.toSorted());
    const moves = (await store.listEvents({ limit: 10_000 })).filter((event) => event.type === 'sandbox.destroying');
    expect(moves).toHaveLength(ROUNDS);

    const latest = T0 + 1 + (ROUNDS - 1) * 10 + (PROCESSES - 1);
    expect(await store.getSandbox(BUSY)).toMatchObject({ lastActiveAt: latest, dueAt: latest + 1000 });
    expect((await store.getSandbox(TICKET))?.dueAt).toBe(PROCESSES * ROUNDS);
    expect(await store.counters()).toEqual([{ kind: 'execution', name: 'reused', value: PROCESSES * ROUNDS }]);
    await store.close();
  });

  it('make a new store once when they all open it first', async () => {
    const openers = Array.from({ length: PROCESSES }, () => start('claim', path));
    for (const { child, lines } of openers) {
      await lines.next();
      await end(child);
    }
    const store = await openSqliteStore({ path });
    expect(await store.installation()).toMatch(/^ins_/);
    const database = new DatabaseSync(path);
    expect(database.prepare('select count(*) as installations from installation').get()).toEqual({ installations: 1 });
    database.close();
    await store.close();
  });

  it('keep every row that was committed and no half of one when a writer is killed', async () => {
    const { child, lines } = start('claim', path);
    const reported: string[] = [];
    while (reported.length < 200) reported.push(String((await lines.next()).value));
    await end(child);
    for (let line = await lines.next(); line.done !== true; line = await lines.next()) reported.push(line.value);

    const store = await openSqliteStore({ path });
    const sessions = await store.listSessions(Infinity);
    expect(sessions.map(({ session }) => session.key)).toEqual(expect.arrayContaining(reported));
    const events = await store.listEvents({ limit: Infinity });
    expect(events).toHaveLength(sessions.length * 2);
    expect(await store.findSandboxes({ limit: Infinity })).toHaveLength(sessions.length);
    await store.appendEvents([{ at: T0, type: 'health.failed', cause: 'life goes on' }]);
    await store.close();

    const database = new DatabaseSync(path);
    expect(database.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' });
    database.close();
  });
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
