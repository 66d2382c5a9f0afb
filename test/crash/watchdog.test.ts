/** A process that is killed has somebody who sees to what it leaves, at once and without being asked. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { open, type SubletEvent } from 'sublet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requirement } from '../setup/requirements.ts';
import { watchdogsOf } from './home-processes.ts';
import type { OwnerAnswer, OwnerOrders } from './owner.fixture.ts';

const FIXTURE = path.join(import.meta.dirname, 'owner.fixture.ts');
const SECRET = 'not-for-anybody-to-read';

let home = '';
const children: ChildProcess[] = [];
const strays: number[] = [];

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'sublet-watchdog-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const pid of strays.splice(0)) end(pid);
  await until(async () => (await watchdogsOf(home)).length === 0, 'watchdogs end');
  const sublet = await open({ home, handleSignals: false });
  await sublet.reap();
  for (const { id } of await sublet.sandboxes.list()) await sublet.sandboxes.destroy(id);
  await sublet.close();
  expect(await readdir(path.join(home, 'providers/namespace/sandboxes')).catch(() => [])).toEqual([]);
  await rm(home, { recursive: true, force: true });
});

describe.runIf(await requirement('namespace'))('the watchdog', () => {
  it('pauses the sandbox of a session whose process was killed', async () => {
    const { child, answer } = await owner({ next: 'wait' });
    child.kill('SIGKILL');
    expect(await eventOf('sandbox.paused', answer.sandboxId)).toBe('its owner died, and onExit is pause');
    expect(await eventOf('owner.died')).toContain(`process ${child.pid} on `);
  });

  it('destroys what follows its process to the end, files and rows', async () => {
    const { child, answer } = await owner({ onExit: 'destroy', next: 'wait' });
    child.kill('SIGKILL');
    expect(await eventOf('sandbox.destroyed', answer.sandboxId)).toBe('its owner died, and onExit is destroy');
    expect(await readdir(path.join(home, 'providers/namespace/sandboxes'))).toEqual([]);
  });

  it('does nothing when its process leaves in good order', async () => {
    const { child } = await owner({ onExit: 'destroy', next: 'close' });
    await exitOf(child);
    await until(async () => (await watchdogsOf(home)).length === 0, 'the watchdog ends');
    expect((await events()).map(({ type }) => type)).not.toContain('owner.died');
  });

  it('sees to what a process leaves that ends without closing', async () => {
    const { child, answer } = await owner({ open: { handleSignals: false }, next: 'end' });
    // Nothing but the watchdog is left to it then: it must not be kept alive by that.
    expect(await exitOf(child)).toBe(0);
    expect(await eventOf('sandbox.paused', answer.sandboxId)).toContain('its owner died');
  });

  it('watches over a process that took up a sandbox made by another', async () => {
    const first = await owner({ onExit: 'keep', next: 'close' });
    await exitOf(first.child);
    const second = await owner({ onExit: 'keep', next: 'wait' });
    expect(second.answer.sandboxId).toBe(first.answer.sandboxId);
    second.child.kill('SIGKILL');
    expect(await eventOf('owner.died')).toContain(`process ${second.child.pid} on `);
  });

  it('is out of the terminal’s reach, holds nothing of its process and has no secret in its arguments', async () => {
    const { child } = await owner({ next: 'wait' });
    const [watchdog] = await watchdogsOf(home);
    expect(watchdog?.session).toBe(watchdog?.pid);
    expect(watchdog?.args.join(' ')).not.toContain(SECRET);
    expect(await readlink(`/proc/${watchdog?.pid}/cwd`)).toBe('/');
    const fds = await readdir(`/proc/${watchdog?.pid}/fd`);
    const targets = await Promise.all(fds.map((fd) => readlink(`/proc/${watchdog?.pid}/fd/${fd}`)));
    expect(targets.filter((target) => target !== '/dev/null')).toEqual([expect.stringMatching(/^socket:/)]);
    expect(await memoryKiB(watchdog?.pid)).toBeLessThan(8 * 1024);
    child.kill('SIGKILL');
    await eventOf('owner.died');
  });

  it('is not started for an ephemeral sandbox, which ends with its process by itself', async () => {
    const { child } = await owner({ ephemeral: true, next: 'wait' });
    expect(await watchdogsOf(home)).toEqual([]);
    child.kill('SIGKILL');
  });

  it.each([
    ['an option', { open: { watchdog: false } }, {}],
    ['a variable', {}, { SUBLET_WATCHDOG: '0' }],
  ])('is switched off by %s', async (_, orders, env) => {
    await owner({ ...orders, next: 'wait' }, env);
    expect(await watchdogsOf(home)).toEqual([]);
  });

  it('may be killed itself: the next process does its work', async () => {
    const { child, answer } = await owner({ next: 'wait' });
    const [watchdog] = await watchdogsOf(home);
    end(watchdog?.pid);
    await until(async () => (await watchdogsOf(home)).length === 0, 'the watchdog ends');
    child.kill('SIGKILL');
    await exitOf(child);
    const next = await open({ home, handleSignals: false });
    const { actions } = await next.sweep();
    expect(actions).toEqual([
      { sandboxId: answer.sandboxId, action: 'pause', reason: 'its owner died, and onExit is pause' },
    ]);
    await next.close();
  });
});

async function owner(
  orders: OwnerOrders,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly child: ChildProcess; readonly answer: OwnerAnswer }> {
  const child = spawn(process.execPath, ['--import', 'tsx', FIXTURE, JSON.stringify(orders)], {
    env: { PATH: process.env['PATH'], HOME: home, SUBLET_HOME: home, SOME_API_KEY: SECRET, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const answer = JSON.parse(line) as OwnerAnswer;
    if (answer.childPid !== undefined) strays.push(answer.childPid);
    return { child, answer };
  }
  throw new Error('The owner ended without an answer.');
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Why it happened, once it has. Reading alone does nothing to what is there. */
async function eventOf(type: SubletEvent['type'], sandboxId?: string): Promise<string> {
  let found: SubletEvent | undefined;
  await until(async () => {
    found = (await events()).find((event) => event.type === type && event.sandboxId === sandboxId);
    return found !== undefined;
  }, type);
  return found?.cause ?? '';
}

async function events(): Promise<readonly SubletEvent[]> {
  const reader = await open({ home, handleSignals: false });
  try {
    return await reader.events();
  } finally {
    await reader.close();
  }
}

async function memoryKiB(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]);
}

async function until(fact: () => Promise<boolean>, what: string): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    if (await fact()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`Never came true: ${what}`);
}

function end(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
