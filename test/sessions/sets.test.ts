/** A session's set of sandboxes, of real namespaces and several processes. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open, type Sublet } from 'sublet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requirement } from '../setup/requirements.ts';

const FIXTURE = path.join(import.meta.dirname, 'set-user.fixture.ts');
const MAX = 3;

describe.runIf(await requirement('namespace'))('a set of real sandboxes', () => {
  let home = '';
  let sublet: Sublet;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'sublet-sets-'));
    sublet = await open({ home, handleSignals: false });
  });
  afterEach(async () => {
    for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
    await sublet.destroyAllSessions();
    await sublet.close();
    await rm(home, { recursive: true, force: true });
  });

  it('has no more than its limit, however many processes ask for fresh ones at once', async () => {
    const processes = await Promise.all(Array.from({ length: 3 }, () => startProcess(home)));
    children.push(...processes);
    const answers = await Promise.all(processes.map(askAtOnce));
    expect(answers.flatMap(({ ids }) => ids).length).toBeGreaterThanOrEqual(MAX);
    // Who found no room that is idle, or kept losing places to the others, was told so.
    for (const code of answers.flatMap(({ codes }) => codes)) expect(['LEASE_HELD', 'STATE_CONFLICT']).toContain(code);
    const places = await sublet.sandboxSet({ user: 'ada', task: 'shared', maxPerRuntime: MAX }).list();
    expect(places.length).toBeLessThanOrEqual(MAX);
    expect(new Set(places.map(({ slot }) => slot)).size).toBe(places.length);
    expect((await namesAtProvider(home)).length).toBeLessThanOrEqual(MAX);
  });

  it('replaces one whose processes were killed from outside in its place, and shows one nothing of another', async () => {
    const set = sublet.sandboxSet({ user: 'ada', task: 'killed', maxPerRuntime: 2 });
    const [one, two] = [await set.sandbox({ fresh: true }), await set.sandbox({ fresh: true })];
    await one.files.write('secret', 'of the first');
    expect(await two.files.exists('secret')).toBe(false);
    const { name } = await sublet.sandboxes.get(two.sandboxId);
    const record = path.join(home, 'providers', 'namespace', 'sandboxes', name, 'sandbox.json');
    const { init } = JSON.parse(await readFile(record, 'utf8')) as { readonly init: { readonly pid: number } };
    await two.commands.run('true');
    process.kill(init.pid, 'SIGKILL');
    await expect.poll(() => isAlive(init.pid)).toBe(false);
    // It is lost, or nobody knows how the command ended; it has not succeeded.
    const outcome = await two.commands
      .run('true')
      .catch((error: unknown) => error as { readonly exitCode?: undefined });
    expect(outcome.exitCode ?? null).toBeNull();
    const again = await set.sandbox();
    expect(again.key).toBe(two.key);
    expect((await again.commands.run('echo alive')).stdout).toBe('alive\n');
    expect(await set.list()).toHaveLength(2);
  });

  it('keeps the files of one user from another with the same task and runtime', async () => {
    const [ada, eve] = await Promise.all(
      ['ada', 'eve'].map((user) => sublet.sandboxSet({ user, task: 'same', maxPerRuntime: 1 }).sandbox()),
    );
    await ada?.files.write('secret', 'of ada');
    expect(await eve?.files.exists('secret')).toBe(false);
    expect(ada?.sandboxId).not.toBe(eve?.sandboxId);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

interface Answer {
  readonly ids: readonly string[];
  readonly codes: readonly string[];
}

async function startProcess(home: string): Promise<ChildProcess> {
  const child = fork(FIXTURE, [String(MAX), '4'], {
    env: { PATH: process.env['PATH'], HOME: home, SUBLET_HOME: home },
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

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`ended with status ${code}`)));
  });
}

async function namesAtProvider(home: string): Promise<readonly string[]> {
  return readdir(path.join(home, 'providers', 'namespace', 'sandboxes'));
}
