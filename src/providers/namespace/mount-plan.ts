/** What will be mounted for a sandbox, as the host is now, and where. */
import { readFileSync } from 'node:fs';
import { parseHostMounts } from './host-mounts.ts';
import { OVER_ROOT, type SandboxPaths } from './layout.ts';
import { mountTable } from './mount-table.ts';
import { writeResolvConf } from './resolv-conf.ts';
import type { RootCache } from './root-cache.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import { openVolume } from './volumes.ts';

/** What of the host a plan depends on. */
export interface MountHost {
  readonly stateDir: string;
  /** Who owns the disk, where that is not this process's user. */
  readonly diskOwner: number | undefined;
  /** The agent's id in the outer user namespace. */
  readonly outerUid: number;
  /** Whether the new root is mounted at its own path first, and moved. */
  readonly movesRoot: boolean;
}

export interface MountPlan {
  readonly table: string;
  readonly target: string;
  /** What it was made from: with the same root and the same mounts of the host it would be the same. */
  readonly root: string;
  readonly mountInfo: string;
}

export async function planMounts(
  host: MountHost,
  roots: RootCache,
  record: SandboxRecord,
  paths: SandboxPaths,
  onProgress: (message: string) => void,
): Promise<MountPlan> {
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
    host: parseHostMounts(mountInfo),
  });
  return { table, target, root, mountInfo };
}
