/** What the kernel says of processes: real ones. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { machineOf } from '../core/host-id.ts';
import { homePaths } from './home.ts';
import { isRunning, readIdentity } from './process-identity.ts';

const homes: string[] = [];

afterEach(async () => {
  await Promise.all(homes.splice(0).map((home) => rm(home, { recursive: true, force: true })));
});

describe('readIdentity', () => {
  it('says the same of this process every time, and that it runs', async () => {
    const home = await newHome();
    const identity = await readIdentity(home);
    expect(await readIdentity(home)).toEqual(identity);
    expect(identity).toMatchObject({ pid: process.pid, hostName: os.hostname() });
    expect(await isRunning(identity)).toBe(true);
  });

  it('tells homes of one machine apart, and is the same for all who ask first', async () => {
    const [one, other] = [await newHome(), await newHome()];
    const asked = await Promise.all([one, one, one, other].map((home) => readIdentity(home)));
    expect(new Set(asked.map(({ hostId }) => hostId)).size).toBe(2);
    if (await hasMachineId()) expect(new Set(asked.map(({ hostId }) => machineOf(hostId))).size).toBe(1);
  });
});

describe.runIf(process.platform === 'linux')('isRunning', () => {
  it('is false for a pid that another process has by now', async () => {
    const identity = await readIdentity(await newHome());
    expect(await isRunning({ ...identity, pidStartedAt: identity.pidStartedAt + 1 })).toBe(false);
  });

  it('is false once the process has ended', async () => {
    const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
    const facts = { pid: child.pid ?? 0, pidStartedAt: await startedAt(child.pid ?? 0) };
    expect(await isRunning(facts)).toBe(true);
    child.stdin.end();
    await once(child, 'exit');
    expect(await isRunning(facts)).toBe(false);
  });

  it('is false for one that has ended and waits to be collected by its parent', async () => {
    // The parent becomes a program that never collects its children.
    const parent = spawn('sh', ['-c', 'cat <&3 >/dev/null 3<&- & echo $!; exec cat 3<&-'], {
      stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
    });
    try {
      const [line] = (await once(parent.stdout!, 'data')) as [Buffer];
      const pid = Number(line.toString());
      const facts = { pid, pidStartedAt: await startedAt(pid) };
      expect(await isRunning(facts)).toBe(true);
      (parent.stdio[3] as NodeJS.WritableStream).end();
      while ((await stateOf(pid)) !== 'Z') await delay(5);
      expect(await isRunning(facts)).toBe(false);
    } finally {
      parent.stdin!.end();
      await once(parent, 'exit');
    }
  });
});

async function hasMachineId(): Promise<boolean> {
  return (await readFile('/etc/machine-id', 'utf8').catch(() => '')).trim() !== '';
}

async function newHome(): Promise<ReturnType<typeof homePaths>> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'sublet-identity-'));
  homes.push(home);
  return homePaths({ SUBLET_HOME: home });
}

async function fieldsOf(pid: number): Promise<readonly string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

async function startedAt(pid: number): Promise<number> {
  return Number((await fieldsOf(pid))[19]);
}

async function stateOf(pid: number): Promise<string | undefined> {
  return (await fieldsOf(pid))[0];
}
