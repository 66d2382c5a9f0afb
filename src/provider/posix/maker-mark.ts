/**
 * Names that tell who made a thing that is not yet anybody's: a draft, a directory of pipes, a control group. When its
 * maker is killed, another process can tell that by the name and remove it at once, and never takes it from one that lives.
 */
import { createHash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';

export type MakerFact = 'lives' | 'gone' | 'unknown';

interface Place {
  /** Boot and numbering of processes: a pid means nothing elsewhere. */
  readonly id: string;
  readonly mark: string;
}

let place: Promise<Place> | undefined;

/** The same for everything this process makes; goes before a part of the name that is unique. */
export async function makerMark(): Promise<string> {
  return (await here()).mark;
}

/** `unknown` where the name has no mark, or one of another machine, boot or container. */
export async function judgeMaker(name: string): Promise<MakerFact> {
  const [, id, pid, startedAt] = /^([0-9a-f]{8}-\d+)-(\d+)-(\d+)-/.exec(name) ?? [];
  if (pid === undefined || id !== (await here()).id) return 'unknown';
  return (await startOf(Number(pid))) === startedAt ? 'lives' : 'gone';
}

function here(): Promise<Place> {
  return (place ??= findPlace());
}

async function findPlace(): Promise<Place> {
  const [boot, numbering, startedAt] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
    startOf(process.pid),
  ]);
  const id = `${createHash('sha256').update(boot).digest('hex').slice(0, 8)}-${/\d+/.exec(numbering)?.[0] ?? '0'}`;
  return { id, mark: `${id}-${process.pid}-${startedAt ?? '0'}-` };
}

/** undefined when no such process runs. Where the kernel has no /proc, a pid that answers is taken for the maker's. */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return answers(pid) ? '0' : undefined;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The second field is the program's name in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

function answers(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM';
  }
}
