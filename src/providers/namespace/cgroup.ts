/** Control groups, version 1 and 2, where this process may write them. */
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Limits } from '../../core/spec.ts';

export type Controller = 'memory' | 'cpu' | 'pids' | 'freezer';

/** Where sandboxes' groups may be made, by controller. Version 2 has one place for all. */
export interface CgroupHost {
  readonly version: 1 | 2;
  readonly roots: Readonly<Partial<Record<Controller, string>>>;
}

const GROUP = 'sublet';
const CPU_PERIOD_US = 100_000;

/** undefined where no controller is writable: an ordinary user without delegation, or a container. */
export async function findCgroupHost(mountInfo: string, selfCgroup: string): Promise<CgroupHost | undefined> {
  const v2 = mountInfo.split('\n').find((line) => line.includes(' - cgroup2 '));
  const v1 = await findVersion1(mountInfo);
  if (v1 !== undefined) return v1;
  return v2 === undefined ? undefined : findVersion2(v2.split(' ')[4] ?? '', selfCgroup);
}

/** Makes the sandbox's groups with their limits and returns them. A controller that is missing or refuses is left out. */
export async function makeCgroups(host: CgroupHost, name: string, limits: Limits, defaults: Limits): Promise<readonly string[]> {
  const wanted: Limits = { ...defaults, ...Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)) };
  if (host.version === 2) return makeVersion2(host, name, wanted);
  const dirs: string[] = [];
  for (const [controller, settings] of Object.entries(version1Settings(wanted))) {
    const root = host.roots[controller as Controller];
    if (root === undefined || settings.length === 0) continue;
    const dir = join(root, GROUP, name);
    if (await makeGroup(dir, settings)) dirs.push(dir);
  }
  return dirs;
}

/** Succeeds when they are gone already. Processes that are still ending make it wait a little. */
export async function removeCgroups(dirs: readonly string[]): Promise<void> {
  for (const dir of dirs) await removeGroup(dir);
}

export function hasMemoryLimit(dirs: readonly string[]): boolean {
  return dirs.some((dir) => dir.includes('/memory/')) || dirs.some((dir) => !/\/(memory|cpu|pids|freezer)\//u.test(dir));
}

export interface CgroupUsage {
  readonly memoryBytes?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
}

export async function cgroupUsage(dirs: readonly string[]): Promise<CgroupUsage> {
  for (const dir of dirs) {
    const used = (await readNumber(join(dir, 'memory.current'))) ?? (await readNumber(join(dir, 'memory.usage_in_bytes')));
    if (used === undefined) continue;
    const limit = (await readNumber(join(dir, 'memory.max'))) ?? (await readNumber(join(dir, 'memory.limit_in_bytes')));
    return { memoryBytes: used, memoryLimitBytes: limit };
  }
  return {};
}

async function findVersion1(mountInfo: string): Promise<CgroupHost | undefined> {
  const roots: Partial<Record<Controller, string>> = {};
  for (const line of mountInfo.split('\n')) {
    const [before, after] = line.split(' - ');
    if (after === undefined || !after.startsWith('cgroup ')) continue;
    const point = before?.split(' ')[4] ?? '';
    const options = (after.split(' ')[2] ?? '').split(',');
    for (const controller of ['memory', 'cpu', 'pids', 'freezer'] as const) {
      if (options.includes(controller) && (await mayMakeGroups(point))) roots[controller] = point;
    }
  }
  return Object.keys(roots).length === 0 ? undefined : { version: 1, roots };
}

/** The top of the hierarchy for root, else the nearest group above this process that was delegated to the user. */
async function findVersion2(mountPoint: string, selfCgroup: string): Promise<CgroupHost | undefined> {
  const own = /^0::(.*)$/mu.exec(selfCgroup)?.[1] ?? '/';
  const parents = own.split('/').map((_, index, parts) => join(mountPoint, ...parts.slice(0, index + 1)));
  for (const root of new Set(parents)) {
    const enabled = await enableControllers(root);
    if (enabled.length > 0) return { version: 2, roots: Object.fromEntries([...enabled, 'freezer'].map((name) => [name, root])) };
  }
  return undefined;
}

async function enableControllers(root: string): Promise<readonly Controller[]> {
  if (!(await mayMakeGroups(root))) return [];
  const available = (await readFile(join(root, 'cgroup.controllers'), 'utf8').catch(() => '')).trim().split(' ');
  const enabled: Controller[] = [];
  for (const controller of ['memory', 'cpu', 'pids'] as const) {
    if (!available.includes(controller)) continue;
    const done = await Promise.all(
      [root, join(root, GROUP)].map((dir) => writeFile(join(dir, 'cgroup.subtree_control'), `+${controller}`).then(() => true, () => false)),
    );
    if (done.every(Boolean)) enabled.push(controller);
  }
  return enabled;
}

async function mayMakeGroups(root: string): Promise<boolean> {
  return mkdir(join(root, GROUP)).then(
    () => true,
    (cause: NodeJS.ErrnoException) => cause.code === 'EEXIST' && isWritable(join(root, GROUP)),
  );
}

async function isWritable(dir: string): Promise<boolean> {
  const trial = join(dir, `trial-${process.pid}`);
  return mkdir(trial).then(
    () => rmdir(trial).then(() => true),
    () => false,
  );
}

type Setting = readonly [file: string, value: string];

function version1Settings(limits: Limits): Readonly<Record<'memory' | 'cpu' | 'pids', readonly Setting[]>> {
  return {
    memory: limits.memoryBytes === undefined ? [] : [['memory.limit_in_bytes', String(limits.memoryBytes)]],
    pids: limits.pids === undefined ? [] : [['pids.max', String(limits.pids)]],
    cpu:
      limits.cpuMillis === undefined
        ? []
        : [['cpu.cfs_period_us', String(CPU_PERIOD_US)], ['cpu.cfs_quota_us', String(Math.round((limits.cpuMillis * CPU_PERIOD_US) / 1000))]],
  };
}

async function makeVersion2(host: CgroupHost, name: string, limits: Limits): Promise<readonly string[]> {
  const root = host.roots.freezer ?? '';
  const settings: Setting[] = [];
  if (limits.memoryBytes !== undefined && host.roots.memory !== undefined) settings.push(['memory.max', String(limits.memoryBytes)]);
  if (limits.pids !== undefined && host.roots.pids !== undefined) settings.push(['pids.max', String(limits.pids)]);
  if (limits.cpuMillis !== undefined && host.roots.cpu !== undefined) {
    settings.push(['cpu.max', `${Math.round((limits.cpuMillis * CPU_PERIOD_US) / 1000)} ${CPU_PERIOD_US}`]);
  }
  const dir = join(root, GROUP, name);
  return (await makeGroup(dir, settings)) ? [dir] : [];
}

async function makeGroup(dir: string, settings: readonly Setting[]): Promise<boolean> {
  try {
    await mkdir(dir, { recursive: true });
    for (const [file, value] of settings) await writeFile(join(dir, file), value);
    return true;
  } catch {
    return false;
  }
}

async function removeGroup(dir: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const code = await rmdir(dir).then(
      () => 'gone',
      (cause: NodeJS.ErrnoException) => cause.code,
    );
    if (code !== 'EBUSY' && code !== 'ENOTEMPTY') return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(2 + attempt, 20)));
  }
}

async function readNumber(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  const value = Number(text);
  return text === undefined || !Number.isFinite(value) ? undefined : value;
}

/** The processes of a group, as host pids. */
export async function cgroupProcesses(dir: string): Promise<readonly number[]> {
  const text = await readFile(join(dir, 'cgroup.procs'), 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).map(Number);
}

export async function cgroupExists(dir: string): Promise<boolean> {
  return readdir(dir).then(
    () => true,
    () => false,
  );
}
