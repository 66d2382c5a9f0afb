/** Everything a sandbox needs on the host before its first process can mount it. */
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import type { Limits } from '../../core/spec.ts';
import { type CgroupHost, hasMemoryLimit, makeCgroups } from './cgroup.ts';
import { Channel } from './channel.ts';
import { openImage } from './image.ts';
import { DISK_DIRS, type SandboxPaths } from './layout.ts';
import { DEFAULT_PIDS, limitScript } from './limits.ts';
import { lockedFlagsFrom, mountTable } from './mount-table.ts';
import type { PipeStock } from './pipe-stock.ts';
import { removeTree } from './remove-tree.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import { prepareSkeleton } from './skeleton.ts';
import { FIRST_RESIDENT, type Prepared } from './start-sandbox.ts';
import { writeResolvConf } from './uplink.ts';
import { openVolume } from './volumes.ts';

export interface BuildHost {
  readonly stateDir: string;
  readonly stock: PipeStock;
  /** Who owns the disk, where that is not this process's user. */
  readonly diskOwner: number | undefined;
  readonly cgroups: CgroupHost | undefined;
  readonly mountInfo: string;
}

export async function buildSandbox(host: BuildHost, record: SandboxRecord, paths: SandboxPaths, onProgress: (message: string) => void): Promise<Prepared> {
  const image = await openImage(host.stateDir, record.image, onProgress);
  const channel = new Channel(paths.channel, FIRST_RESIDENT, host.stock);
  const [root, cgroups, volumeDir, resolvConf] = await Promise.all([
    prepareSkeleton(host.stateDir, image, record.mounts.map((mount) => mount.target)),
    host.cgroups === undefined ? [] : makeCgroups(host.cgroups, record.name, record.limits, defaultLimits()),
    record.contextId === undefined ? undefined : openVolume(host.stateDir, record.contextId, host.diskOwner),
    record.network === 'open' ? writeResolvConf(paths.dir) : undefined,
    makeDisk(paths.disk, host.diskOwner),
    makeChannel(paths, channel, host.stock, record.ephemeral),
  ]);
  const table = mountTable({
    root,
    image,
    diskDir: paths.disk,
    channelDir: paths.channel,
    volumeDir,
    mounts: record.mounts,
    diskBytes: record.limits.diskBytes,
    resolvConf,
    lockedFlags: lockedFlagsFrom(host.mountInfo),
  });
  await writeFile(paths.mountTable, table);
  return { mountTable: paths.mountTable, root, cgroups, limits: limitScript(record.limits, hasMemoryLimit(cgroups)), channel };
}

/** What is there from before a stop is kept. */
async function makeDisk(dir: string, owner: number | undefined): Promise<void> {
  // Searchable by the sandbox's id where that is another than ours.
  await mkdir(dir, { recursive: true, mode: 0o755 });
  await Promise.all(
    DISK_DIRS.map(async ({ name, mode }) => {
      const path = `${dir}/${name}`;
      const made = await mkdir(path, { recursive: true });
      if (made === undefined) return;
      await chmod(path, mode);
      if (owner !== undefined) await chown(path, owner, owner);
    }),
  );
}

/** Pipes of an earlier start lead nowhere. */
async function makeChannel(paths: SandboxPaths, channel: Channel, stock: PipeStock, owned: boolean): Promise<void> {
  await removeTree(paths.channel);
  await mkdir(paths.channel, { mode: 0o755 });
  await Promise.all([channel.makeResident(), owned ? undefined : stock.place([`${paths.channel}/keep`])]);
}

/** A sandbox without limits of its own may not take the machine: half its memory, and a number of processes. */
function defaultLimits(): Limits {
  return { memoryBytes: Math.floor(totalmem() / 2), pids: DEFAULT_PIDS };
}
