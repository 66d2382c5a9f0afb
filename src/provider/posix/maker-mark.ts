/**
 * Names that tell who made a thing that is not yet anybody's: a draft, a directory of pipes, a control group. When its
 * maker is killed, another process can tell that by the name and remove it at once, and never takes it from one that lives.
 */
import { readFileSync, readlinkSync } from 'node:fs';

export type MakerFact = 'lives' | 'gone' | 'unknown';

interface Place {
  /** Boot and numbering of processes: a pid means nothing elsewhere. */
  readonly id: string;
  readonly mark: string;
}

let place: Place | undefined;

/** The same for everything this process makes; goes before a part of the name that is unique. */
export function makerMark(): string {
  return here().mark;
}

/** `unknown` where the name has no mark, or one of another machine, boot or container. */
export function judgeMaker(name: string): MakerFact {
  const [, id, pid, startedAt] = /^([0-9a-f]{8}-\d+)-(\d+)-(\d+)-/.exec(name) ?? [];
  if (pid === undefined || id !== here().id) return 'unknown';
  return startOf(Number(pid)) === startedAt ? 'lives' : 'gone';
}

function here(): Place {
  return (place ??= findPlace());
}

function findPlace(): Place {
  const boot = /^[0-9a-f]{8}/.exec(ask(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')))?.[0];
  const numbering = /\d+/.exec(ask(() => readlinkSync('/proc/self/ns/pid')))?.[0];
  const id = `${boot ?? '00000000'}-${numbering ?? '0'}`;
  return { id, mark: `${id}-${process.pid}-${startOf(process.pid) ?? '0'}-` };
}

/** undefined when no such process runs. Where the kernel has no /proc, a pid that answers is taken for the maker's. */
function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return answers(pid) ? '0' : undefined;
  const stat = ask(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The second field is the program's name in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

// At once: the kernel answers from memory, and another thread would take longer to be asked.
function ask(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

function answers(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM';
  }
}
