/** Who this process is: enough for another one on the same machine to tell whether it still lives. */
import { randomUUID } from 'node:crypto';
import { link, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { hostname, uptime } from 'node:os';
import { join } from 'node:path';
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
  const [hostId, bootId, pidNamespace, pidStartedAt] = await Promise.all([
    readHostId(home),
    readBootId(),
    readPidNamespace(),
    readStartTime(),
  ]);
  return { hostId, hostName: hostname(), bootId, pidNamespace, pid: process.pid, pidStartedAt };
}

// Containers often have no machine id, or an empty one: then the home has one of its own.
async function readHostId(home: HomePaths): Promise<string> {
  const machineId = await readText('/etc/machine-id');
  if (machineId) return machineId;
  const file = join(home.home, 'host-id');
  return (await readText(file)) || makeHostId(home, file);
}

// A link fails when the name is taken, so that of several first processes all read what one wrote.
async function makeHostId(home: HomePaths, file: string): Promise<string> {
  await ensureHome(home);
  const made = randomUUID();
  const draft = `${file}.${made}`;
  await writeFile(draft, `${made}\n`, { mode: 0o600 });
  await link(draft, file).catch(() => undefined);
  await rm(draft, { force: true });
  return (await readText(file)) || made;
}

async function readBootId(): Promise<string> {
  const bootId = await readText('/proc/sys/kernel/random/boot_id');
  return bootId || `boot-${Math.round((Date.now() - uptime() * 1_000) / 60_000)}`;
}

function readPidNamespace(): Promise<string> {
  return readlink('/proc/self/ns/pid').catch(() => '');
}

// The 22nd field; the second, the command's name in parentheses, may hold spaces and parentheses itself.
async function readStartTime(): Promise<number> {
  const stat = await readText('/proc/self/stat');
  const ticks = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  return Number.isSafeInteger(ticks) && ticks > 0 ? ticks : Math.round(Date.now() - process.uptime() * 1_000);
}

async function readText(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}
