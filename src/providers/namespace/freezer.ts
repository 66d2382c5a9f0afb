/** Pausing: the freezer where there is one, else signals. */
import { existsSync } from 'node:fs';
import { readFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import { removeCgroups } from './cgroup.ts';
import type { CgroupHost } from './cgroup-host.ts';
import { livingProcessesOf } from './sandbox-processes.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import { isStopped, stopProcesses, wakeProcesses } from './stop-processes.ts';

/** Rounds until no process is found outside: a fork between two looks is caught by the next. */
const MAX_ROUNDS = 50;
/** Some ten seconds. */
const MAX_LOOKS = 500;

/** Returns when the kernel says that every process is frozen. PROVIDER_UNAVAILABLE when some are not; then all run on. */
export async function freeze(
  host: CgroupHost | undefined,
  record: SandboxRecord,
  maxLooks: number = MAX_LOOKS,
): Promise<void> {
  const group = await freezerGroup(host, record);
  if (group === undefined) return stopProcesses(record);
  try {
    // Gathered first, so that they freeze together, and again: what joins a frozen group cannot fork past the next look.
    if (host?.version === 1) {
      await gather(group, record);
      await writeFile(join(group, 'freezer.state'), 'FROZEN');
      await gather(group, record);
      await settled(record, join(group, 'freezer.state'), /^FROZEN/u, maxLooks);
    } else {
      await writeFile(join(group, 'cgroup.freeze'), '1');
      await settled(record, join(group, 'cgroup.events'), /^frozen 1$/mu, maxLooks);
    }
  } catch (cause) {
    await thaw(host, record);
    throw cause;
  }
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
  throw notFrozen(record);
}

async function settled(record: SandboxRecord, file: string, pattern: RegExp, maxLooks: number): Promise<void> {
  for (let look = 0; look < maxLooks; look++) {
    if (pattern.test(await readFile(file, 'utf8').catch(() => ''))) return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(look, 20)));
  }
  throw notFrozen(record);
}

function notFrozen({ name }: SandboxRecord): SubletError {
  return new SubletError('PROVIDER_UNAVAILABLE', `The processes of ${name} do not freeze.`, {
    hint: 'They may wait for a disk or a network file system. Try again later.',
  });
}

function ignoreMissing(cause: NodeJS.ErrnoException): void {
  if (cause.code !== 'ENOENT') throw cause;
}
