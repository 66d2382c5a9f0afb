/** One key, one sandbox: however many ask first, in however many processes. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open, type Sublet } from 'sublet';
import { openPostgresStore } from 'sublet/stores/postgres';
import { openSqliteStore } from 'sublet/stores/sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../setup/postgres.ts';
import { requirement } from '../setup/requirements.ts';

const PROCESSES = 4;
const CALLS = 250;
const FIXTURE = path.join(import.meta.dirname, 'first-user.fixture.ts');

interface Answer {
  readonly ids: readonly string[];
  readonly created: number;
}

const hasNamespaces = await requirement('namespace');

describe.runIf(hasNamespaces)('first uses of one key, on SQLite', () => {
  makeOneSandbox(
    () => ({}),
    (home) => openSqliteStore({ path: path.join(home, 'sublet.db') }),
  );
});

describe.runIf(hasNamespaces && (await requirement('postgres')))('first uses of one key, on Postgres', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterAll(() => database.drop());

  makeOneSandbox(
    () => ({ SUBLET_STORE: database.url }),
    () => openPostgresStore({ url: database.url }),
  );
});

/** `variables` tell a process which store to use; `openStore` opens the same. */
function makeOneSandbox(
  variables: () => Readonly<Record<string, string>>,
  openStore: (home: string) => ReturnType<typeof openSqliteStore>,
): void {
  let home = '';
  let sublet: Sublet;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'sublet-scale-'));
    sublet = await open({ home, env: { ...process.env, ...variables() }, handleSignals: false });
  });

  afterEach(async () => {
    for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
    await sublet.destroyAllSessions();
    await sublet.close();
    await rm(home, { recursive: true, force: true });
  });

  it(`make one sandbox for ${PROCESSES * CALLS} callers in ${PROCESSES} processes`, async () => {
    const processes = await Promise.all(Array.from({ length: PROCESSES }, () => startProcess(home, variables())));
    children.push(...processes);
    const answers = await Promise.all(processes.map((child) => askAtOnce(child)));

    const ids = answers.flatMap((answer) => answer.ids);
    expect(ids).toHaveLength(PROCESSES * CALLS);
    expect(new Set(ids).size).toBe(1);
    expect(answers.map(({ created }) => created).toSorted((a, b) => a - b)).toEqual([0, 0, 0, 1]);
    const store = await openStore(home);
    const everMade = await store.findSandboxes({});
    await store.close();
    expect(everMade.map(({ id }) => id)).toEqual([ids[0]]);
    expect(await namesAtProvider(home)).toHaveLength(1);

    await sublet.sandboxes.destroy(ids[0]!);
    expect(await sublet.sandboxes.list()).toEqual([]);
    expect(await namesAtProvider(home)).toEqual([]);
  });
}

async function startProcess(home: string, variables: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const child = fork(FIXTURE, ['first', String(CALLS)], {
    env: { PATH: process.env['PATH'], HOME: home, SUBLET_HOME: home, ...variables },
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await nextMessage(child);
  return child;
}

async function askAtOnce(child: ChildProcess): Promise<Answer> {
  const ended = once(child, 'exit');
  child.send('go');
  const answer = (await nextMessage(child)) as Answer;
  await ended;
  return answer;
}

/** Rejects when the process ends without one. */
function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`ended with status ${code}`)));
  });
}

/** What the provider has on disk. */
async function namesAtProvider(home: string): Promise<readonly string[]> {
  return readdir(path.join(home, 'providers', 'namespace', 'sandboxes'));
}
