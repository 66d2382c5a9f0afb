/** Who this process is: enough for another one on the same machine to tell whether it still lives. */
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, platform } from 'node:os';
import { join } from 'node:path';
import { toHostId } from '../core/host-id.ts';
import { ensureHome, type HomePaths } from './home.ts';

export interface ProcessIdentity {
  readonly hostId: string;
  readonly hostName: string;
  readonly bootId: string;
  /** Containers on one machine number their processes apart. */
  readonly pidNamespace: string;
  readonly pid: number;
  /** As the kernel counts it: a reused pid is not the same process. */
  readonly pidStartedAt: number;
}

export async function readIdentity(home: HomePaths): Promise<ProcessIdentity> {
  const [bootId, pidStartedAt] = [readBootId(), readStartTime()];
  return {
    hostId: await readHostId(home),
    hostName: hostname(),
    bootId,
    pidNamespace: readPidNamespace(),
    pid: process.pid,
    pidStartedAt,
  };
}

// Containers often have no machine id, or an empty one: then the home's stands for both.
async function readHostId(home: HomePaths): Promise<string> {
  const machineId = readText('/etc/machine-id');
  const file = join(home.home, 'host-id');
  if (!machineId) return readText(file) || makeHostId(home, file);
  // Nothing is kept in a home that cannot be written.
  return toHostId(machineId, readText(file) || (await makeHostId(home, file).catch(() => undefined)));
}

// A link fails when the name is taken, so that of several first processes all read what one wrote.
async function makeHostId(home: HomePaths, file: string): Promise<string> {
  await ensureHome(home);
  const made = randomUUID();
  const draft = `${file}.${made}`;
  await writeFile(draft, `${made}\n`, { mode: 0o600 });
  await link(draft, file).catch(() => undefined);
  await rm(draft, { force: true });
  return readText(file) || made;
}

// Empty where the system has none: what is computed from the uptime changes when the clock is set.
function readBootId(): string {
  return readText('/proc/sys/kernel/random/boot_id') ?? '';
}

/** undefined when it cannot be found out. A process that has ended and waits to be collected does not run. */
export async function isRunning(process: Pick<ProcessIdentity, 'pid' | 'pidStartedAt'>): Promise<boolean | undefined> {
  if (platform() !== 'linux') return answersSignals(process.pid);
  try {
    const stat = await readFile(`/proc/${process.pid}/stat`, 'utf8');
    const [state = ''] = afterName(stat);
    return !'ZX'.includes(state) && startTicks(stat) === process.pidStartedAt;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH' ? false : undefined;
  }
}

// Elsewhere a pid that was given to another process counts as alive: late, but never wrong.
function answersSignals(pid: number): boolean | undefined {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EPERM') return true;
    return code === 'ESRCH' ? false : undefined;
  }
}

function readPidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function readStartTime(): number {
  const ticks = startTicks(readText('/proc/self/stat') ?? '');
  return Number.isSafeInteger(ticks) && ticks > 0 ? ticks : Math.round(Date.now() - process.uptime() * 1_000);
}

function startTicks(stat: string): number {
  return Number(afterName(stat)[19]);
}

// The second field, the command's name in parentheses, may hold spaces and parentheses itself.
function afterName(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

// At once: these are a line each, and another thread would take longer to be asked.
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
