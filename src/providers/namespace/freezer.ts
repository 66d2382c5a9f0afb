/** Pausing: the freezer where there is one, else signals. */
import { existsSync } from 'node:fs';
import { readFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeCgroups } from './cgroup.ts';
import type { CgroupHost } from './cgroup-host.ts';
import { livingProcessesOf } from './sandbox-processes.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import { isStopped, stopProcesses, wakeProcesses } from './stop-processes.ts';

/** Rounds until no process is found outside: a fork between two looks is caught by the next. */
const MAX_ROUNDS = 50;

export async function freeze(host: CgroupHost | undefined, record: SandboxRecord): Promise<void> {
  const group = await freezerGroup(host, record);
  if (group === undefined) return stopProcesses(record);
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
  if (group === undefined) return wakeProcesses(record);
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
    const outside = (await livingProcessesOf(record)).filter((pid) => !inside.has(pid));
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

function ignoreMissing(cause: NodeJS.ErrnoException): void {
  if (cause.code !== 'ENOENT') throw cause;
}
