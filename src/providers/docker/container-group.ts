/** The control group by which the kernel keeps a container frozen, where this machine has it and this process may write to it. */
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from '../../core/clock.ts';

export interface ContainerGroup {
  isFrozen(): Promise<boolean>;
  thaw(): Promise<void>;
  /** Resolves when every process of it is frozen. */
  freeze(): Promise<void>;
}

const VERSIONS = [
  { file: 'freezer.state', frozen: 'FROZEN', thawed: 'THAWED', told: 'freezer.state', isFrozen: /^FROZEN/ },
  { file: 'cgroup.freeze', frozen: '1', thawed: '0', told: 'cgroup.events', isFrozen: /^frozen 1$/m },
] as const;
/** Engines put a container a few groups deep. */
const MAX_DEPTH = 8;
const SETTLE_LOOKS = 400;
const LOOK_MS = 5;

/** By its name, because the engine's numbers of processes may not be this process's. undefined where there is none. */
export async function findGroup(containerId: string, clock: Clock): Promise<ContainerGroup | undefined> {
  const isIts = new RegExp(`^(docker-|libpod-)?${containerId}(\\.scope)?$`);
  for (const version of VERSIONS) {
    for (const root of await roots()) {
      const dir = await findDirectory(root, (path, name) => isIts.test(name) && existsSync(join(path, version.file)));
      if (dir !== undefined) return groupAt(dir, version, clock);
    }
  }
  return undefined;
}

function groupAt(
  dir: string,
  { file, frozen, thawed, told, isFrozen }: (typeof VERSIONS)[number],
  clock: Clock,
): ContainerGroup {
  const isNowFrozen = async (): Promise<boolean> =>
    isFrozen.test(await readFile(join(dir, told), 'utf8').catch(() => ''));
  return {
    isFrozen: isNowFrozen,
    thaw: () => writeFile(join(dir, file), thawed),
    async freeze() {
      await writeFile(join(dir, file), frozen);
      for (let look = 0; look < SETTLE_LOOKS && !(await isNowFrozen()); look++) await sleep(clock, LOOK_MS);
    },
  };
}

async function roots(): Promise<readonly string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')).split('\n');
  const isMeant = (line: string): boolean => / - cgroup2 /.test(line) || / - cgroup \S+ \S*\bfreezer\b/.test(line);
  return lines.filter(isMeant).map((line) => line.split(' ')[4] ?? '');
}

async function findDirectory(
  root: string,
  isMeant: (path: string, name: string) => boolean,
): Promise<string | undefined> {
  let level = [root];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const next: string[] = [];
    for (const dir of level) {
      for (const entry of await readdir(dir, { withFileTypes: true }).catch(() => [])) {
        if (!entry.isDirectory()) continue;
        const path = join(dir, entry.name);
        if (isMeant(path, entry.name)) return path;
        next.push(path);
      }
    }
    level = next;
  }
  return undefined;
}
