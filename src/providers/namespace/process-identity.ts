/** A process that is told apart from a later one with the same pid, by its start time and the machine's boot. */
import { readFile } from 'node:fs/promises';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, as the kernel counts them. */
  readonly startTicks: number;
  readonly bootId: string;
}

let bootId: Promise<string> | undefined;
let own: Promise<ProcessIdentity | undefined> | undefined;

/** This process: who it is does not change. */
export function identifySelf(): Promise<ProcessIdentity | undefined> {
  return (own ??= identify(process.pid));
}

export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const startTicks = await readStartTicks(pid);
  return startTicks === undefined ? undefined : { pid, startTicks, bootId: await readBootId() };
}

/** False for a process that has ended, also while its parent has not collected it. */
export async function isSameProcess(identity: ProcessIdentity): Promise<boolean> {
  return (await readStartTicks(identity.pid)) === identity.startTicks && (await readBootId()) === identity.bootId;
}

async function readStartTicks(pid: number): Promise<number | undefined> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses and may hold anything, so fields count from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  if (state === 'Z' || state === 'X') return undefined;
  return Number(fields[19]);
}

function readBootId(): Promise<string> {
  return (bootId ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then((text) => text.trim()));
}
