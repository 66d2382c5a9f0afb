/** Everything a sandbox needs on the host before its first process can mount it. */
import { chmodSync, chownSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { ownTurn } from '../../provider/posix/own-turn.ts';
import { type CgroupHost, hasMemoryGroup } from './cgroup-host.ts';
import { Channel } from './channel.ts';
import { DISK_DIRS, type SandboxPaths } from './layout.ts';
import { checkLimits, limitScript } from './limits.ts';
import { type MountHost, planMounts } from './mount-plan.ts';
import { checkMount } from './mount-rules.ts';
import type { PipeStock } from './pipe-stock.ts';
import { removeTree } from './remove-tree.ts';
import type { RootCache } from './root-cache.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import { FIRST_RESIDENT } from './scripts.ts';
import type { Life } from './setup.ts';
import type { Prepared } from './start-sandbox.ts';

export interface BuildHost extends MountHost {
  readonly stock: PipeStock;
  readonly cgroups: CgroupHost | undefined;
}

export async function buildSandbox(
  host: BuildHost,
  roots: RootCache,
  record: SandboxRecord,
  paths: SandboxPaths,
  life: Life,
  onProgress: (message: string) => void,
): Promise<Prepared> {
  checkLimits(record.limits);
  // Named only where there are any: a plain run has none, and does not read what is not asked for.
  const mounts = await Promise.all(record.mounts.map((mount) => checkMount(mount)));
  const channel = new Channel(paths.channel, FIRST_RESIDENT, host.stock, life === 'once');
  await ownTurn();
  makeDisk(paths.disk, host.diskOwner);
  const [plan] = await Promise.all([
    planMounts(host, roots, { ...record, mounts }, paths, onProgress),
    makeChannel(paths, channel, host.stock, life),
  ]);
  writeFileSync(paths.mountTable, plan.table);
  return {
    mountTable: paths.mountTable,
    plan,
    limits: limitScript(record.limits, hasMemoryGroup(host.cgroups)),
    channel,
  };
}

/** What is there from before a stop is kept. At once: to hand each step to another thread takes ten times as long. */
function makeDisk(dir: string, owner: number | undefined): void {
  // Searchable by the sandbox's id where that is another than ours.
  makeDirectory(dir);
  for (const { name, mode } of DISK_DIRS) {
    const path = `${dir}/${name}`;
    // The owner comes last: one that is still ours was left half-made by whoever was killed over it.
    if (!makeDirectory(path) && (owner === undefined || lstatSync(path).uid === owner)) continue;
    if (mode !== 0o755) chmodSync(path, mode);
    if (owner !== undefined) chownSync(path, owner, owner);
  }
}

function makeDirectory(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o755 });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cause;
  }
}

/** Pipes of an earlier start lead nowhere. */
async function makeChannel(paths: SandboxPaths, channel: Channel, stock: PipeStock, life: Life): Promise<void> {
  if (!makeDirectory(paths.channel)) {
    await removeTree(paths.channel);
    makeDirectory(paths.channel);
  }
  await Promise.all([
    life === 'once' ? undefined : channel.makeResident(),
    life === 'free' ? stock.place([`${paths.channel}/keep`]) : undefined,
  ]);
}
