/** Pausing by signals, for a user whom no freezer obeys. */
import { readdir, readFile } from 'node:fs/promises';
import { SubletError } from '../../core/errors.ts';
import { lookAtProcesses, type ProcessLook, livingProcessesOf, stateLetter } from './sandbox-processes.ts';
import type { SandboxRecord } from './sandbox-record.ts';

/** Some ten seconds. */
const MAX_LOOKS = 500;
/** Some two seconds: what entered has waited for its child again long before. */
const MAX_ENTRANT_LOOKS = 100;
/** So often in a row nothing is seen to run: one that was seen stopped may be woken by one that was not yet. */
const QUIET_LOOKS = 2;
/** Stopped, held by a tracer, ended. */
const AT_REST = ['T', 't', 'Z', 'X'];

/**
 * Returns when every process has been seen stopped: the kernel stops one only when its turn comes, and until then it runs,
 * forks and wakes others. PROVIDER_UNAVAILABLE when some do not stop; then all run on.
 */
export async function stopProcesses(record: SandboxRecord, maxLooks = MAX_LOOKS): Promise<void> {
  let quiet = 0;
  let running: readonly number[] = [];
  for (let look = 0; look < maxLooks; look++) {
    running = await runningIn(record);
    quiet = running.length === 0 ? quiet + 1 : 0;
    if (quiet === QUIET_LOOKS) return;
    for (const pid of running) send(pid, 'SIGSTOP');
    if (quiet === 0) await pause(Math.min(look, 20));
  }
  await wakeProcesses(record);
  throw new SubletError('PROVIDER_UNAVAILABLE', `The processes of ${record.name} do not stop.`, {
    details: { pids: running },
    hint: 'They may wait for a disk or a network file system. Try again later.',
  });
}

/** Never stopped is success. */
export async function wakeProcesses(record: SandboxRecord): Promise<void> {
  const first = record.init?.pid;
  if (first === undefined) return;
  const others = (await livingProcessesOf(record)).filter((pid) => pid !== first);
  for (const pid of others) send(pid, 'SIGCONT');
  await settleEntrants(first);
  // Last: while it is stopped the sandbox is known to be paused, so that whoever dies on the way has the rest woken later.
  send(first, 'SIGCONT');
}

export async function isStopped(pid: number | undefined): Promise<boolean> {
  return pid !== undefined && (await stateLetter(pid)) === 'T';
}

/**
 * Wakes programs that entered from outside and are stopped with what they wait for: the first process of a PID namespace
 * does not end before every other has been collected, and theirs only they can collect.
 */
export async function wakeEntrants(initPid: number): Promise<void> {
  for (const pid of await entrantsOf(initPid)) send(pid, 'SIGCONT');
}

/** The first one first: that it is stopped tells whoever comes after that a pause has begun. */
async function runningIn(record: SandboxRecord): Promise<readonly number[]> {
  const looks = await lookAtProcesses(record);
  const parentsOfStopped = new Set(looks.filter(({ states }) => states.includes('T')).map(({ parent }) => parent));
  const isFirst = (pid: number): boolean => pid === record.init?.pid;
  return looks
    .filter((look) => !isAtRest(look, parentsOfStopped))
    .map(({ pid }) => pid)
    .toSorted((one, other) => Number(isFirst(other)) - Number(isFirst(one)));
}

/** The parent of a vfork waits in the kernel (D) for as long as its child is stopped, and stops when that has gone on. */
function isAtRest({ pid, states }: ProcessLook, parentsOfStopped: ReadonlySet<number | undefined>): boolean {
  return states.every((state) => AT_REST.includes(state) || (state === 'D' && parentsOfStopped.has(pid)));
}

/**
 * A program that entered from outside stops itself when it sees its child stopped, and nobody inside can wake it. One that is
 * running may have seen that and not yet stopped; asleep, it waits for its child again.
 */
async function settleEntrants(initPid: number): Promise<void> {
  for (let look = 0; look < MAX_ENTRANT_LOOKS; look++) {
    const entrants = await entrantsOf(initPid);
    const states = await Promise.all(entrants.map(stateLetter));
    const unsettled = entrants.filter((_, index) => ['T', 'R'].includes(states[index] ?? ''));
    if (unsettled.length === 0) return;
    for (const pid of unsettled) send(pid, 'SIGCONT');
    await pause(Math.min(look, 20));
  }
}

async function entrantsOf(initPid: number): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const entrance = `nsenter\0--target\0${initPid}\0`;
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, index) => lines[index]?.startsWith(entrance)).map(Number);
}

function send(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
