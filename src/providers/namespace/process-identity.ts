/** A process that is told apart from a later one with the same pid, by its start time and the machine's boot. */
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, as the kernel counts them. */
  readonly startTicks: number;
  readonly bootId: string;
}

let bootId: string | undefined;
let own: ProcessIdentity | undefined;

/** This process: who it is does not change. */
export function identifySelf(): ProcessIdentity | undefined {
  return (own ??= identify(process.pid));
}

export function identify(pid: number): ProcessIdentity | undefined {
  const startTicks = readStartTicks(pid);
  return startTicks === undefined ? undefined : { pid, startTicks, bootId: readBootId() };
}

/** False for a process that has ended, also while its parent has not collected it. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  return readStartTicks(identity.pid) === identity.startTicks && readBootId() === identity.bootId;
}

// At once: the kernel answers from memory, and another thread would take longer to be asked.
function readStartTicks(pid: number): number | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (cause) {
    // Who has no descriptor left to look has not seen that it is gone.
    if (['ENOENT', 'ESRCH'].includes((cause as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw cause;
  }
  // The second field is the program's name in parentheses and may hold anything, so fields count from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  if (state === 'Z' || state === 'X') return undefined;
  return Number(fields[19]);
}

function readBootId(): string {
  return (bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
}
