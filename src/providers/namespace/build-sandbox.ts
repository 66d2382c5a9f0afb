/** Everything a sandbox needs on the host before its first process can mount it. */
import { readFileSync } from 'node:fs';
import { chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { SubletError } from '../../core/errors.ts';
import { type CgroupHost, hasMemoryGroup } from './cgroup.ts';
import { Channel } from './channel.ts';
import { DISK_DIRS, OVER_ROOT, type SandboxPaths } from './layout.ts';
import { limitScript } from './limits.ts';
import { lockedFlagsFrom, mountsBelowFrom, mountTable } from './mount-table.ts';
import type { PipeStock } from './pipe-stock.ts';
import { removeTree } from './remove-tree.ts';
import { writeResolvConf } from './resolv-conf.ts';
import type { RootCache } from './root-cache.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import { FIRST_RESIDENT } from './scripts.ts';
import type { Life } from './setup.ts';
import type { Prepared } from './start-sandbox.ts';
import { openVolume } from './volumes.ts';

export interface BuildHost {
  readonly stateDir: string;
  readonly stock: PipeStock;
  /** Who owns the disk, where that is not this process's user. */
  readonly diskOwner: number | undefined;
  /** The agent's id in the outer user namespace. */
  readonly outerUid: number;
  readonly cgroups: CgroupHost | undefined;
  /** Whether the new root is mounted at its own path first, and moved. */
  readonly movesRoot: boolean;
}

export async function buildSandbox(
  host: BuildHost,
  roots: RootCache,
  record: SandboxRecord,
  paths: SandboxPaths,
  life: Life,
  onProgress: (message: string) => void,
): Promise<Prepared> {
  await Promise.all(record.mounts.map((mount) => checkSource(mount.source)));
  const channel = new Channel(paths.channel, FIRST_RESIDENT, host.stock);
  const [{ table, target }] = await Promise.all([
    planMounts(host, roots, record, paths, onProgress),
    makeDisk(paths.disk, host.diskOwner),
    makeChannel(paths, channel, host.stock, life),
  ]);
  await writeFile(paths.mountTable, table);
  return {
    mountTable: paths.mountTable,
    target,
    limits: limitScript(record.limits, hasMemoryGroup(host.cgroups)),
    channel,
  };
}

/** What will be mounted, as the host is now, and where. */
export async function planMounts(
  host: BuildHost,
  roots: RootCache,
  record: SandboxRecord,
  paths: SandboxPaths,
  onProgress: (message: string) => void,
): Promise<{ readonly table: string; readonly target: string }> {
  // For each sandbox: the host may have mounted something since the last.
  const mountInfo = readFileSync('/proc/self/mountinfo', 'utf8');
  const [{ image, root }, volumeDir, resolvConf] = await Promise.all([
    roots.get(record.image, record.mounts, onProgress),
    record.contextId === undefined ? undefined : openVolume(host.stateDir, record.contextId, host.diskOwner),
    record.network === 'open' ? writeResolvConf(paths.dir) : undefined,
  ]);
  const target = host.movesRoot ? root : OVER_ROOT;
  const table = mountTable({
    root,
    target,
    image,
    diskDir: paths.disk,
    channelDir: paths.channel,
    volumeDir,
    mounts: record.mounts,
    diskBytes: record.limits.diskBytes,
    memoryBytes: record.limits.memoryBytes,
    diskUid: host.outerUid,
    resolvConf,
    lockedFlags: lockedFlagsFrom(mountInfo),
    mountsBelow: mountsBelowFrom(mountInfo),
  });
  return { table, target };
}

/** Said here in words; `mount` would speak of a special device. */
async function checkSource(source: string): Promise<void> {
  await stat(source).catch((cause: unknown) => {
    throw new SubletError(
      'CONFIG_INVALID',
      `${source} cannot be mounted: it is not there, or this user may not see it.`,
      {
        cause,
        hint: 'Check the path: it is one of the machine that runs the sandbox.',
      },
    );
  });
}

/** What is there from before a stop is kept. */
async function makeDisk(dir: string, owner: number | undefined): Promise<void> {
  // Searchable by the sandbox's id where that is another than ours.
  if (!(await makeDirectory(dir))) return;
  await Promise.all(
    DISK_DIRS.map(async ({ name, mode }) => {
      const path = `${dir}/${name}`;
      await makeDirectory(path);
      if (mode !== 0o755) await chmod(path, mode);
      if (owner !== undefined) await chown(path, owner, owner);
    }),
  );
}

async function makeDirectory(path: string): Promise<boolean> {
  return mkdir(path, { mode: 0o755 }).then(
    () => true,
    (cause: NodeJS.ErrnoException) => cause.code !== 'EEXIST' && Promise.reject(cause),
  );
}

/** Pipes of an earlier start lead nowhere. */
async function makeChannel(paths: SandboxPaths, channel: Channel, stock: PipeStock, life: Life): Promise<void> {
  if (!(await makeDirectory(paths.channel))) {
    await removeTree(paths.channel);
    await makeDirectory(paths.channel);
  }
  await Promise.all([
    life === 'once' ? undefined : channel.makeResident(),
    life === 'free' ? stock.place([`${paths.channel}/keep`]) : undefined,
  ]);
}
