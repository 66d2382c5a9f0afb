/** Namespaces with nothing in them yet: made ahead of need, they wait to be told what to become, and end with this process. */
import { readlinkSync, writeFileSync } from 'node:fs';
import { joinCgroups, makeCgroups, removeCgroups } from './cgroup.ts';
import type { CgroupHost } from './cgroup-host.ts';
import { nextSetup } from './early-setup.ts';
import type { Privileges } from './privileges.ts';
import { identify, type ProcessIdentity } from './process-identity.ts';
import type { Setup } from './setup.ts';

export interface Blank {
  readonly init: ProcessIdentity;
  readonly holder: ProcessIdentity;
  readonly cgroups: BlankGroups;
  readonly setup: Setup;
  /** While it waits ahead of need it keeps nobody alive. */
  setReferenced(referenced: boolean): void;
  /** Ends it and leaves nothing. */
  discard(): Promise<void>;
}

/** Its control groups, as soon as they are made, and once its first process is in those that have no doors. */
export interface BlankGroups {
  readonly made: Promise<readonly string[]>;
  readonly joined: Promise<readonly string[]>;
}

/** `name` is for its control groups and must be unique on this machine. Resolves when it goes on by itself. */
export async function makeBlank(
  privileges: Privileges,
  findCgroups: () => Promise<CgroupHost | undefined>,
  name: string,
): Promise<Blank> {
  const setup = await nextSetup(privileges);
  const pid = setup.line('p').then(Number);
  // Before anything else, because it waits for this.
  const isMapped = isMappedNow(setup.child.pid, privileges.idMap);
  if (isMapped) setup.lifeline.write('mapped\n');
  const host = findCgroups();
  const made = host.then((groups) => (groups === undefined ? [] : makeCgroups(groups, name, setup.isAlone)));
  // The kernel takes its time to move a process, which nothing before the agent's first process has to wait for.
  const joined = Promise.all([host, made, pid]).then(async ([groups, dirs, init]) => {
    await joinCgroups(groups, dirs, init);
    return dirs;
  });
  for (const part of [made, joined]) part.catch(() => undefined);
  let initPid: number | undefined;
  const leave = async (): Promise<void> => discard(setup, initPid, { made, joined });
  try {
    initPid = await pid;
    if (!isMapped) {
      mapIds(initPid, privileges.idMap);
      setup.lifeline.write('mapped\n');
    }
    const [init, holder] = [initPid, setup.child.pid ?? 0].map(identify);
    if (init === undefined || holder === undefined) throw await setup.failure();
    const setReferenced = (referenced: boolean): void => setup.setReferenced(referenced);
    return { init, holder, cgroups: { made, joined }, setup, setReferenced, discard: leave };
  } catch (cause) {
    await leave();
    throw cause;
  }
}

/** False also when it has ended: whoever waits for its first line hears of that. */
function isMappedNow(pid: number | undefined, map: string | undefined): boolean {
  try {
    return mapIds(pid, map);
  } catch {
    return false;
  }
}

/** False when it has no user namespace of its own yet. At once: it waits for this. */
function mapIds(pid: number | undefined, map: string | undefined): boolean {
  if (map === undefined) return true;
  if (pid === undefined || readlinkSync(`/proc/${pid}/ns/user`) === readlinkSync('/proc/self/ns/user')) return false;
  for (const kind of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${kind}`, map);
  return true;
}

async function discard(setup: Setup, initPid: number | undefined, { made, joined }: BlankGroups): Promise<void> {
  setup.abandon(initPid);
  await Promise.allSettled([setup.exited, joined]);
  await removeCgroups(await made.catch(() => []), setup.isAlone);
}
