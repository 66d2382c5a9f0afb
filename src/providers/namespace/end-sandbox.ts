/** Ends a sandbox's processes and what the kernel holds for them. Its directory is left to the caller. */
import { SubletError } from '../../core/errors.ts';
import type { Setup } from './setup.ts';
import { removeCgroups } from './cgroup.ts';
import type { CgroupHost } from './cgroup-host.ts';
import { isFrozen, removeFreezer, thaw } from './freezer.ts';
import { isSameProcess } from './process-identity.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import { wakeEntrants } from './stop-processes.ts';
import { closeUplink } from './uplink.ts';

const GIVE_UP_MS = 10_000;
const STIR_EVERY_MS = 250;

/** `setup` tells at once where this process started the sandbox; elsewhere the kernel is asked again and again. */
export async function endSandbox(record: SandboxRecord, cgroups: CgroupHost | undefined, setup?: Setup): Promise<void> {
  const { init, holder } = record;
  if (init !== undefined && (isAlive(setup) || isSameProcess(init))) {
    // Without a freezer whoever waits outside for a process is stopped with it, and would never collect it.
    if (cgroups === undefined && (!record.ephemeral || (await isFrozen(cgroups, record)))) await thaw(cgroups, record);
    // The kernel ends every process of a PID namespace with its first one, but holds back those that are frozen.
    kill(init.pid);
    if (cgroups !== undefined) await thaw(cgroups, record);
    setup?.child.ref();
    // Also where `setup` tells: whoever waited for the first process may have been killed before it.
    const ended = Promise.resolve(setup?.exited).then(() => gone([init, holder]));
    await hasEnded(ended, init.pid, record.name);
  }
  await Promise.all([
    closeUplink(record.uplink),
    removeCgroups(record.cgroups, setup?.isAlone),
    removeFreezer(cgroups, record),
  ]);
}

/** Ends what this process started before anything is read: the record tells what else there is to end. False if there is nothing. */
export function beginToEnd(setup: Setup | undefined, init: SandboxRecord['init']): boolean {
  if (init === undefined || !isAlive(setup)) return false;
  kill(init.pid);
  return true;
}

// Whoever holds the sandbox waits for its first process, so while it lives that pid is no other's.
function isAlive(setup: Setup | undefined): boolean {
  return setup?.child.hasEnded === false;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Somebody else has ended it since it was looked at.
  }
}

async function gone(processes: readonly (SandboxRecord['init'] | undefined)[]): Promise<void> {
  for (const one of processes) {
    for (let attempt = 0; one !== undefined && isSameProcess(one); attempt++) await pause(attempt < 20 ? 1 : 20);
  }
}

async function hasEnded(ended: Promise<void>, initPid: number, name: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < GIVE_UP_MS; waitedMs += STIR_EVERY_MS) {
    if (await settlesWithin(ended, STIR_EVERY_MS)) return;
    await wakeEntrants(initPid);
  }
  throw new SubletError('PROVIDER_UNAVAILABLE', `The processes of ${name} do not end.`, {
    hint: 'They may wait for a disk or a network file system. Try again later.',
  });
}

function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), ms);
    promise.finally(() => clearTimeout(timer)).then(() => resolve(true), reject);
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
