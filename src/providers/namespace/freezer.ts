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

/** Some ten seconds. */
const MAX_LOOKS = 500;
/** Some second. */
const LOOKS_OF_A_TRY = 60;

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
      const state = join(group, 'freezer.state');
      await gather(group, record, maxLooks);
      await writeFile(state, 'FROZEN');
      await gather(group, record, maxLooks);
      await until(record, maxLooks, async (look) => {
        if ((await readOrNothing(state)).startsWith('FROZEN')) return true;
        // One that the kernel did not catch on its way is caught by another try, not by waiting.
        if (look % LOOKS_OF_A_TRY === LOOKS_OF_A_TRY - 1)
          for (const change of ['THAWED', 'FROZEN']) await writeFile(state, change);
        return false;
      });
    } else {
      await writeFile(join(group, 'cgroup.freeze'), '1');
      await until(record, maxLooks, async () => /^frozen 1$/mu.test(await readOrNothing(join(group, 'cgroup.events'))));
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

/** Until no process is found outside: a fork between two looks is caught by the next, and one that is dying cannot be moved. */
function gather(group: string, record: SandboxRecord, maxLooks: number): Promise<void> {
  const members = join(group, 'cgroup.procs');
  return until(record, maxLooks, async () => {
    const inside = new Set((await readFile(members, 'utf8')).split('\n').filter(Boolean).map(Number));
    const outside = (await livingProcessesOf(record)).filter((pid) => !inside.has(pid));
    for (const pid of outside) await writeFile(members, String(pid)).catch(() => undefined);
    return outside.length === 0;
  });
}

async function until(record: SandboxRecord, maxLooks: number, isSo: (look: number) => Promise<boolean>): Promise<void> {
  for (let look = 0; look < maxLooks; look++) {
    if (await isSo(look)) return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(look, 20)));
  }
  throw notFrozen(record);
}

function readOrNothing(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

function notFrozen({ name }: SandboxRecord): SubletError {
  return new SubletError('PROVIDER_UNAVAILABLE', `The processes of ${name} do not freeze.`, {
    hint: 'They may wait for a disk or a network file system. Try again later.',
  });
}

function ignoreMissing(cause: NodeJS.ErrnoException): void {
  if (cause.code !== 'ENOENT') throw cause;
}
