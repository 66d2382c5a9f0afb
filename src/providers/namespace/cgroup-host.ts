/** Where sandboxes' control groups may be made, version 1 or 2. */
import { accessSync, constants, mkdir, readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type Controller = 'memory' | 'cpu' | 'pids' | 'freezer';

/** Where sandboxes' groups may be made, by controller. Version 2 has one place for all. */
export interface CgroupHost {
  readonly version: 1 | 2;
  readonly roots: Readonly<Partial<Record<Controller, string>>>;
}

/** The group of all sandboxes. */
export const GROUP = 'sublet';

/** In version 1 and in version 2: the file, the kernel's own weight, and a quarter of it. */
const CPU_SHARES = ['cpu.shares', '1024', '256'] as const;
const CPU_WEIGHT = ['cpu.weight', '100', '25'] as const;

/** undefined where no controller is writable: an ordinary user without delegation, or a container. */
export async function findCgroupHost(mountInfo: string, selfCgroup: string): Promise<CgroupHost | undefined> {
  const v2 = mountInfo.split('\n').find((line) => line.includes(' - cgroup2 '));
  const v1 = await findVersion1(mountInfo);
  if (v1 !== undefined) return v1;
  return v2 === undefined ? undefined : findVersion2(v2.split(' ')[4] ?? '', selfCgroup);
}

export function hasMemoryGroup(host: CgroupHost | undefined): boolean {
  return host?.roots.memory !== undefined;
}

async function findVersion1(mountInfo: string): Promise<CgroupHost | undefined> {
  const found: [Controller, string][] = [];
  for (const line of mountInfo.split('\n')) {
    const [before, after] = line.split(' - ');
    if (after === undefined || !after.startsWith('cgroup ')) continue;
    const point = before?.split(' ')[4] ?? '';
    const options = (after.split(' ')[2] ?? '').split(',');
    for (const controller of ['memory', 'cpu', 'pids', 'freezer'] as const)
      if (options.includes(controller)) found.push([controller, point]);
  }
  const usable = await Promise.all(found.map(([, point]) => mayMakeGroups(point)));
  const roots: CgroupHost['roots'] = Object.fromEntries(found.filter((_, index) => usable[index]));
  if (roots.cpu !== undefined) giveWay(roots.cpu, CPU_SHARES);
  return Object.keys(roots).length === 0 ? undefined : { version: 1, roots };
}

/** The top of the hierarchy for root, else the nearest group above this process that was delegated to the user. */
async function findVersion2(mountPoint: string, selfCgroup: string): Promise<CgroupHost | undefined> {
  const own = /^0::(.*)$/mu.exec(selfCgroup)?.[1] ?? '/';
  const parents = own.split('/').map((_, index, parts) => join(mountPoint, ...parts.slice(0, index + 1)));
  for (const root of new Set(parents)) {
    const enabled = await enableControllers(root);
    if (enabled.length > 0)
      return { version: 2, roots: Object.fromEntries([...enabled, 'freezer'].map((name) => [name, root])) };
  }
  return undefined;
}

async function enableControllers(root: string): Promise<readonly Controller[]> {
  if (!(await mayMakeGroups(root))) return [];
  const available = (await readFile(`${root}/cgroup.controllers`, 'utf8').catch(() => '')).trim().split(' ');
  const enabled: Controller[] = [];
  for (const controller of ['memory', 'cpu', 'pids'] as const) {
    if (!available.includes(controller)) continue;
    const done = await Promise.all(
      [root, `${root}/${GROUP}`].map((dir) =>
        writeFile(`${dir}/cgroup.subtree_control`, `+${controller}`).then(
          () => true,
          () => false,
        ),
      ),
    );
    if (done.every(Boolean)) enabled.push(controller);
  }
  if (enabled.includes('cpu')) giveWay(root, CPU_WEIGHT);
  return enabled;
}

/**
 * On the group of all: where both want the processor, agents wait for the manager and not it for them. A weight on each
 * sandbox's own would count among sandboxes alone. Whoever has set another keeps it; where it may not be set, it is the usual one.
 */
function giveWay(root: string, [file, usual, less]: typeof CPU_SHARES | typeof CPU_WEIGHT): void {
  const path = `${root}/${GROUP}/${file}`;
  try {
    if (readFileSync(path, 'utf8').trim() === usual) writeFileSync(path, less);
  } catch {
    // Nothing depends on it.
  }
}

/** Several may ask for the same place at once. */
async function mayMakeGroups(root: string): Promise<boolean> {
  const dir = `${root}/${GROUP}`;
  return (
    isWritable(dir) ||
    makeGroupDirectory(dir, false)
      .then(() => true)
      .catch(() => isWritable(dir))
  );
}

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

// Without Node's promises of files, which take 2 ms to load.
export function makeGroupDirectory(dir: string, recursive: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    mkdir(dir, { recursive }, (cause) => (cause === null ? resolve() : reject(cause)));
  });
}
