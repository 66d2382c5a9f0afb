/** Pausing by the freezer, or by signals, which is all that an ordinary user has: the kernel obeys them only when a process's turn comes. */
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CgroupHost, findCgroupHost } from '../../src/providers/namespace/cgroup-host.ts';
import { freeze, isFrozen } from '../../src/providers/namespace/freezer.ts';
import { processesOf } from '../../src/providers/namespace/sandbox-processes.ts';
import type { SandboxRecord } from '../../src/providers/namespace/sandbox-record.ts';
import { stopProcesses, wakeProcesses } from '../../src/providers/namespace/stop-processes.ts';
import { canRun, isRoot, openWorld, sh, until } from './world.ts';

const world = await openWorld();

/** So many that get the processor only when nobody else wants it. */
const IDLERS = 12;
const IDLE = `for i in $(seq ${IDLERS}); do chrt --idle 0 sh -c 'while :; do :; done' >/dev/null 2>&1 & done`;
const HOP = '{ hop() { (sleep 0.01; hop) & }; hop; hop; hop; } >/dev/null 2>&1';
/** A parent that its kernel holds until the child has become another program, which opens a pipe first that nobody writes. */
const VFORK = `mkfifo pipe; python3 -c '
import os
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "pipe", os.O_RDONLY, 0)])
' >/dev/null 2>&1 &`;

describe.runIf(canRun)('a pause by signals', () => {
  it('is over when every process has stopped', async () => {
    const record = await running(IDLE, IDLERS);
    for (let i = 0; i < availableParallelism() * 4; i++) world.spawn(['sh', '-c', 'while :; do :; done']);
    const pids = await processesOf(record);
    await stopProcesses(record);
    expect(pids.map(stateOf).filter(isRunning)).toEqual([]);
    await wakeProcesses(record);
    expect(pids.map(stateOf)).not.toContain('T');
  });

  it.runIf(isRoot)('waits for one that is told and does not stop yet', async ({ skip }) => {
    const held = await holdBack();
    if (held === undefined) skip('there is no freezer to hold a process with');
    const record = await running('sleep 1000 >/dev/null 2>&1 &', 1);
    const last = Math.max(...(await processesOf(record)));
    await held?.hold(last);
    let isOver = false;
    const stopping = stopProcesses(record).then(() => (isOver = true));
    try {
      const others = (await processesOf(record)).filter((pid) => pid !== last);
      await until(async () => !others.map(stateOf).some(isRunning), 'the others have stopped');
      for (let look = 0; look < 10; look++) await processesOf(record);
      expect(isOver).toBe(false);
    } finally {
      await held?.letGo();
    }
    await stopping;
    expect(stateOf(last)).toBe('T');
  });

  it('stops those who are born meanwhile', async () => {
    const record = await running(HOP, 3);
    await stopProcesses(record);
    const pids = await processesOf(record);
    expect(pids.map(stateOf).filter(isRunning)).toEqual([]);
    expect((await processesOf(record)).filter((pid) => !pids.includes(pid))).toEqual([]);
  });

  it('takes a parent for stopped whom its stopped child holds in the kernel', async () => {
    const record = await running(VFORK, 2);
    await until(async () => (await processesOf(record)).map(stateOf).includes('D'), 'the parent waits for its child');
    await stopProcesses(record);
    expect((await processesOf(record)).map(stateOf).toSorted().join('')).toMatch(/^DT+Z*$/u);
  });

  it('that does not come to an end is an error, and leaves all running', async () => {
    const record = await running('sleep 1000 >/dev/null 2>&1 &', 1);
    await expect(stopProcesses(record, 1)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect((await processesOf(record)).map(stateOf)).not.toContain('T');
  });

  it('leaves nobody asleep who entered from outside, however soon the sandbox is resumed', async () => {
    const sandbox = await world.create({ ephemeral: false });
    const command = await sandbox.commands.start('read line; echo "$line"', { stdin: true });
    const record = await world.record(sandbox);
    for (let round = 0; round < 20; round++) {
      await stopProcesses(record);
      await wakeProcesses(record);
    }
    await command.writeStdin('awake\n');
    expect(await command.wait()).toMatchObject({ exitCode: 0 });
  });
});

describe.runIf(canRun && isRoot)('a pause by the freezer', () => {
  it('that does not come to an end is an error, and leaves all running', async ({ skip }) => {
    const host = await cgroupHost();
    if (host?.roots.freezer === undefined) return skip('there is no freezer');
    const record = await running('sleep 1000 >/dev/null 2>&1 &', 1);
    await expect(freeze(host, record, 0)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect(await isFrozen(host, record)).toBe(false);
    await freeze(host, record);
    expect(await isFrozen(host, record)).toBe(true);
  });
});

/** A sandbox in which `script` has left so many processes, beside its own two. */
async function running(script: string, count: number): Promise<SandboxRecord> {
  const sandbox = await world.create({ ephemeral: false });
  await sh(sandbox, script);
  const record = await world.record(sandbox);
  await until(async () => (await processesOf(record)).length >= count + 2, 'all have begun');
  return record;
}

/** A group whose members take no signal until they are let go. */
async function holdBack(): Promise<{ hold(pid: number): Promise<void>; letGo(): Promise<void> } | undefined> {
  const host = await cgroupHost();
  if (host?.roots.freezer === undefined) return undefined;
  const group = join(host.roots.freezer, `sublet-pause-test-${process.pid}`);
  const [file, frozen, thawed] =
    host.version === 1 ? ['freezer.state', 'FROZEN', 'THAWED'] : ['cgroup.freeze', '1', '0'];
  return {
    async hold(pid) {
      await mkdir(group);
      await writeFile(join(group, 'cgroup.procs'), String(pid));
      await writeFile(join(group, file), frozen);
    },
    async letGo() {
      const pids = (await readFile(join(group, 'cgroup.procs'), 'utf8')).trim().split('\n');
      await writeFile(join(group, file), thawed);
      for (const pid of pids) await writeFile(join(host.roots.freezer ?? '', 'cgroup.procs'), pid);
      await rmdir(group);
    },
  };
}

async function cgroupHost(): Promise<CgroupHost | undefined> {
  const [mounts = '', own = ''] = await Promise.all(
    ['/proc/self/mountinfo', '/proc/self/cgroup'].map((path) => readFile(path, 'utf8')),
  );
  return findCgroupHost(mounts, own);
}

/** As ended where it is gone. */
function stateOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.charAt(stat.lastIndexOf(')') + 2);
  } catch {
    return 'Z';
  }
}

/** D is no running: a shell that starts a program waits there for its child, which may be stopped before it is that program. */
function isRunning(state: string): boolean {
  return state === 'R' || state === 'S';
}
