/** Pausing: the freezer where there is one, else SIGSTOP to every process of the sandbox. */
import { existsSync } from 'node:fs';
import { readFile, mkdir, writeFile, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type CgroupHost, removeCgroups } from './cgroup.ts';
import type { SandboxRecord } from './sandbox-record.ts';

/** Rounds until no process is found outside: a fork between two looks is caught by the next. */
const MAX_ROUNDS = 50;

export async function freeze(host: CgroupHost | undefined, record: SandboxRecord): Promise<void> {
  const group = await freezerGroup(host, record);
  if (group === undefined) return stopAll(record);
  // Gathered first, so that they freeze together, and again: what joins a frozen group cannot fork past the next look.
  if (host?.version === 1) {
    await gather(group, record);
    await writeFile(join(group, 'freezer.state'), 'FROZEN');
    await gather(group, record);
  } else {
    await writeFile(join(group, 'cgroup.freeze'), '1');
  }
  await settled(
    group,
    host?.version === 1 ? 'freezer.state' : 'cgroup.events',
    host?.version === 1 ? /^FROZEN/u : /^frozen 1$/mu,
  );
}

/** Never frozen is success. */
export async function thaw(host: CgroupHost | undefined, record: SandboxRecord): Promise<void> {
  const group = groupOf(host, record);
  if (group === undefined) return wakeAll(record);
  // Made by the first pause, so that most have none.
  if (!existsSync(group)) return;
  await writeFile(
    join(group, host?.version === 1 ? 'freezer.state' : 'cgroup.freeze'),
    host?.version === 1 ? 'THAWED' : '0',
  ).catch(ignoreMissing);
}

/** What the kernel says: a process may die between freezing and writing it down. */
export async function isFrozen(host: CgroupHost | undefined, record: SandboxRecord): Promise<boolean> {
  const group = groupOf(host, record);
  if (group === undefined) return isStopped(record.init?.pid);
  const file = join(group, host?.version === 1 ? 'freezer.state' : 'cgroup.freeze');
  return /^(FROZEN|FREEZING|1)$/mu.test(await readFile(file, 'utf8').catch(() => ''));
}

/** A frozen group holds its processes back from dying; version 1 keeps one apart from the others. */
export async function removeFreezer(host: CgroupHost | undefined, record: SandboxRecord): Promise<void> {
  if (host?.version !== 1 || host.roots.freezer === undefined) return;
  const group = freezerDir(host.roots.freezer, record.name);
  if (existsSync(group)) await removeCgroups([group]);
}

/** Every process of the sandbox as the host numbers it, the first one included. */
export async function processesOf(record: SandboxRecord): Promise<readonly number[]> {
  if (record.init === undefined) return [];
  const own = await readlink(`/proc/${record.init.pid}/ns/pid`).catch(() => undefined);
  if (own === undefined) return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => ((await readlink(`/proc/${pid}/ns/pid`).catch(() => undefined)) === own ? pid : undefined)),
  );
  return found.filter((pid): pid is number => pid !== undefined);
}

async function freezerGroup(host: CgroupHost | undefined, record: SandboxRecord): Promise<string | undefined> {
  const group = groupOf(host, record);
  if (group !== undefined && host?.version === 1) await mkdir(group, { recursive: true });
  return group;
}

function groupOf(host: CgroupHost | undefined, record: SandboxRecord): string | undefined {
  if (host === undefined || host.version === 2) return host && record.cgroups[0];
  return host.roots.freezer === undefined ? undefined : freezerDir(host.roots.freezer, record.name);
}

function freezerDir(root: string, name: string): string {
  return join(root, 'sublet', name);
}

async function gather(group: string, record: SandboxRecord): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const inside = new Set(
      (await readFile(join(group, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean).map(Number),
    );
    const outside = (await processesOf(record)).filter((pid) => !inside.has(pid));
    if (outside.length === 0) return;
    for (const pid of outside) await writeFile(join(group, 'cgroup.procs'), String(pid)).catch(() => undefined);
  }
}

async function settled(group: string, file: string, pattern: RegExp): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (pattern.test(await readFile(join(group, file), 'utf8').catch(() => ''))) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function stopAll(record: SandboxRecord): Promise<void> {
  const stopped = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const fresh = (await processesOf(record)).filter((pid) => !stopped.has(pid));
    if (fresh.length === 0) return;
    for (const pid of fresh) {
      send(pid, 'SIGSTOP');
      stopped.add(pid);
    }
  }
}

/** A program that entered from outside stops with its child, and nobody inside can wake it. */
async function wakeAll(record: SandboxRecord): Promise<void> {
  const inside = await processesOf(record);
  const parents = await Promise.all(inside.map(parentOf));
  for (const pid of new Set([...parents, ...inside])) if (pid !== undefined && pid > 1) send(pid, 'SIGCONT');
}

/**
 * Wakes programs that entered from outside and are stopped with what they wait for: the first process of a PID namespace
 * does not end before every other has been collected, and theirs only they can collect.
 */
export async function wakeEntrants(initPid: number): Promise<void> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const entrance = `nsenter\0--target\0${initPid}\0`;
  await Promise.all(
    pids.map(async (pid) => {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (line.startsWith(entrance)) send(Number(pid), 'SIGCONT');
    }),
  );
}

async function parentOf(pid: number): Promise<number | undefined> {
  const parent = Number((await statFields(pid))[1]);
  return Number.isInteger(parent) ? parent : undefined;
}

async function isStopped(pid: number | undefined): Promise<boolean> {
  return pid !== undefined && (await statFields(pid))[0] === 'T';
}

async function statFields(pid: number): Promise<readonly string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function ignoreMissing(cause: NodeJS.ErrnoException): void {
  if (cause.code !== 'ENOENT') throw cause;
}

function send(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
