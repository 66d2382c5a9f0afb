/** A sandbox's control groups, version 1 and 2. */
import { existsSync, mkdirSync, rmdir, rmdirSync, writeFileSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { Limits } from '../../core/spec.ts';
import { judgeMaker, makerMark } from '../../provider/posix/maker-mark.ts';
import { type CgroupHost, GROUP, makeGroupDirectory } from './cgroup-host.ts';

/** In version 2 and in version 1. */
const MEMORY_LIMITS = ['memory.max', 'memory.limit_in_bytes'];
const CPU_PERIOD_US = 100_000;

/**
 * Makes a sandbox's groups, as yet without limits. A controller that is missing or refuses is left out. The one for the
 * processor is there also without a limit: the scheduler then takes the sandbox for one, however many commands run in
 * it; else each would count as much as the manager that serves them all.
 */
export async function makeCgroups(host: CgroupHost, name: string, atOnce = false): Promise<readonly string[]> {
  const marked = `${makerMark()}${name}`;
  const roots = host.version === 2 ? [host.roots.freezer] : [host.roots.memory, host.roots.pids, host.roots.cpu];
  const dirs = [...new Set(roots)]
    .filter((root): root is string => root !== undefined)
    .map((root) => `${root}/${GROUP}/${marked}`);
  const made = await Promise.all(
    dirs.map((dir) =>
      makeGroup(dir, atOnce).then(
        () => dir,
        () => undefined,
      ),
    ),
  );
  return made.filter((dir): dir is string => dir !== undefined);
}

/**
 * The files by which the first process puts itself into its groups. Version 2 has none: a process is moved there as a whole,
 * and for that the kernel waits 15 to 30 ms until every processor has passed a quiet point. A thread that moves
 * itself in version 1 waits for nobody.
 */
export function doorsOf(host: CgroupHost | undefined, dirs: readonly string[]): readonly string[] {
  return host?.version === 1 ? dirs.map((dir) => `${dir}/tasks`) : [];
}

/** Moves it from outside, where there are no doors. */
export async function joinCgroups(host: CgroupHost | undefined, dirs: readonly string[], pid: number): Promise<void> {
  if (host?.version === 1) return;
  await Promise.all(dirs.map((dir) => writeFile(`${dir}/cgroup.procs`, String(pid))));
}

/** What is asked for and can be had, at once: the kernel takes these from memory. A limit that no group enforces is left to the process's own limits. */
export function limitCgroups(host: CgroupHost, dirs: readonly string[], limits: Limits, defaults: Limits): void {
  const wanted: Limits = {
    ...defaults,
    ...Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)),
  };
  const settings = host.version === 2 ? version2Settings(host, wanted) : version1Settings(wanted);
  for (const dir of dirs) {
    const controller =
      host.version === 2
        ? 'all'
        : (['memory', 'pids', 'cpu'] as const).find((name) => dir.startsWith(`${host.roots[name]}/`));
    for (const setting of controller === undefined ? [] : (settings[controller] ?? [])) writeSetting(dir, setting);
  }
}

/** Succeeds when they are gone already. Processes that are still ending make it wait a little. */
export async function removeCgroups(dirs: readonly string[], atOnce = false): Promise<void> {
  await Promise.all(dirs.map((dir) => removeGroup(dir, atOnce)));
}

/** A group this old that nobody has joined, or that all have left, is nobody's, whoever made it. */
const ABANDONED_MS = 60_000;

/** Removes empty groups whose maker was killed. One that holds a process refuses. */
export async function sweepCgroups(host: CgroupHost): Promise<void> {
  for (const root of new Set(Object.values(host.roots))) {
    const names = await readdir(`${root}/${GROUP}`, { withFileTypes: true }).catch(() => []);
    for (const entry of names.filter((each) => each.isDirectory())) {
      const dir = `${root}/${GROUP}/${entry.name}`;
      if (await isAbandoned(entry.name, dir)) await removeDirectory(dir);
    }
  }
}

async function isAbandoned(name: string, dir: string): Promise<boolean> {
  const maker = judgeMaker(name);
  if (maker !== 'unknown') return maker === 'gone';
  const madeAt = await stat(dir).then(
    (info) => info.mtimeMs,
    () => Date.now(),
  );
  return Date.now() - madeAt > ABANDONED_MS;
}

/** Whether one of a sandbox's groups counts memory: the kernel has the file only there. */
export function boundMemory(dirs: readonly string[]): boolean {
  return dirs.some((dir) => MEMORY_LIMITS.some((file) => existsSync(`${dir}/${file}`)));
}

export interface CgroupUsage {
  readonly memoryBytes?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
}

export async function cgroupUsage(dirs: readonly string[]): Promise<CgroupUsage> {
  for (const dir of dirs) {
    const used = (await readNumber(`${dir}/memory.current`)) ?? (await readNumber(`${dir}/memory.usage_in_bytes`));
    if (used === undefined) continue;
    const limit = (await readNumber(`${dir}/memory.max`)) ?? (await readNumber(`${dir}/memory.limit_in_bytes`));
    return { memoryBytes: used, memoryLimitBytes: limit };
  }
  return {};
}

type Setting = readonly [file: string, value: string, isOptional?: boolean];

function writeSetting(dir: string, [file, value, isOptional = false]: Setting): void {
  try {
    writeFileSync(`${dir}/${file}`, value, { flag: isOptional ? 'r+' : 'w' });
  } catch (cause) {
    if (!isOptional || (cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
  }
}

function version1Settings(limits: Limits): Readonly<Record<string, readonly Setting[]>> {
  return {
    memory: limits.memoryBytes === undefined ? [] : version1Memory(String(limits.memoryBytes)),
    pids: limits.pids === undefined ? [] : [['pids.max', String(limits.pids)]],
    cpu:
      limits.cpuMillis === undefined
        ? []
        : [
            ['cpu.cfs_period_us', String(CPU_PERIOD_US)],
            ['cpu.cfs_quota_us', String(Math.round((limits.cpuMillis * CPU_PERIOD_US) / 1000))],
          ],
  };
}

/** The second is of memory and swap together, may not be less than the first, and is there only where swap is counted. */
function version1Memory(bytes: string): readonly Setting[] {
  return [
    ['memory.limit_in_bytes', bytes],
    ['memory.memsw.limit_in_bytes', bytes, true],
  ];
}

function version2Settings(host: CgroupHost, limits: Limits): Readonly<Record<string, readonly Setting[]>> {
  const all: Setting[] = [];
  if (limits.memoryBytes !== undefined && host.roots.memory !== undefined)
    all.push(['memory.max', String(limits.memoryBytes)], ['memory.swap.max', '0', true]);
  if (limits.pids !== undefined && host.roots.pids !== undefined) all.push(['pids.max', String(limits.pids)]);
  if (limits.cpuMillis !== undefined && host.roots.cpu !== undefined) {
    all.push(['cpu.max', `${Math.round((limits.cpuMillis * CPU_PERIOD_US) / 1000)} ${CPU_PERIOD_US}`]);
  }
  return { all };
}

// By another thread, because the kernel may keep a group waiting while it moves somebody else's process; at once where nobody
// else would wait, because a process that asks no other thread for anything starts none.
async function makeGroup(dir: string, atOnce: boolean): Promise<void> {
  if (atOnce) mkdirSync(dir, { recursive: true });
  else await makeGroupDirectory(dir, true);
}

/** Why it could not be removed; undefined when it was. */
function removeDirectory(dir: string): Promise<string | undefined> {
  return new Promise((resolve) => rmdir(dir, (cause) => resolve(cause?.code)));
}

function removeNow(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch {
    return false;
  }
}

async function removeGroup(dir: string, atOnce: boolean): Promise<void> {
  if (atOnce && removeNow(dir)) return;
  for (let attempt = 0; attempt < 100; attempt++) {
    const code = await removeDirectory(dir);
    if (code !== 'EBUSY' && code !== 'ENOTEMPTY') return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(1 + attempt, 20)));
  }
}

async function readNumber(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  const value = Number(text);
  return text === undefined || !Number.isFinite(value) ? undefined : value;
}
