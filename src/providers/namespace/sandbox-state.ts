/** What a sandbox is doing, by what the kernel says rather than by what was written down. */
import type { ProviderState } from '../../provider/provider.ts';
import type { CgroupHost } from './cgroup-host.ts';
import { isFrozen } from './freezer.ts';
import { isSameProcess } from './process-identity.ts';
import { isRunning, type SandboxRecord } from './sandbox-record.ts';

export async function stateOf(record: SandboxRecord, cgroups: CgroupHost | undefined): Promise<ProviderState> {
  if (!(await isUp(record))) return 'stopped';
  return (await isFrozen(cgroups, record)) ? 'paused' : 'running';
}

/** Its processes are there, and whoever started them did not die over it: what was cut short may still see the host. */
export async function isUp(record: SandboxRecord): Promise<boolean> {
  if (!(await isRunning(record))) return false;
  return record.ephemeral || record.maker === undefined || isSameProcess(record.maker);
}
