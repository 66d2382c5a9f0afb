/** A sandbox's processes as the host sees them. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { searchProcesses } from '../../provider/posix/search-processes.ts';
import { isSameProcess } from './process-identity.ts';
import type { SandboxRecord } from './sandbox-record.ts';

export interface ProcessLook {
  readonly pid: number;
  readonly parent: number | undefined;
  /** The kernel's letter for each thread. */
  readonly states: readonly string[];
}

const ENDED = ['Z', 'X'];

/** Every process of the sandbox that lives, as the host numbers it, the first one included. */
export async function livingProcessesOf(record: SandboxRecord): Promise<readonly number[]> {
  return (await lookAtProcesses(record)).map(({ pid }) => pid);
}

/** The same with those that have ended and were not collected yet: what they used counts until they are. */
export async function processesOf(record: SandboxRecord): Promise<readonly number[]> {
  const ended: number[] = [];
  const living = await lookAtProcesses(record, (pid) => ended.push(pid));
  return [...living.map(({ pid }) => pid), ...new Set(ended)];
}

/** Those that live, and what each was doing when it was found: one that has ended since may have left children unseen. */
export async function lookAtProcesses(
  record: SandboxRecord,
  onEnded: (pid: number) => void = () => undefined,
): Promise<readonly ProcessLook[]> {
  const own = await namespaceOf(record);
  if (own === undefined) return [];
  const looks: ProcessLook[] = [];
  await searchProcesses(async (pid) => {
    const found = await readlink(`/proc/${pid}/ns/pid`).catch((cause: NodeJS.ErrnoException) => cause.code);
    if (found === 'ENOENT' || found === 'ESRCH') return 'gone';
    if (found !== own) return 'other';
    const look = await lookAt(pid);
    if (look.states.every((state) => ENDED.includes(state))) {
      onEnded(pid);
      return 'gone';
    }
    looks.push(look);
    return 'sought';
  });
  return looks;
}

/** Of its first process, which is asked for after the look: another may have got its number. Never the host's, whoever has it. */
async function namespaceOf({ init }: SandboxRecord): Promise<string | undefined> {
  if (init === undefined) return undefined;
  const [own, ours] = await Promise.all(
    [init.pid, 'self'].map((pid) => readlink(`/proc/${pid}/ns/pid`).catch(() => undefined)),
  );
  return own !== ours && isSameProcess(init) ? own : undefined;
}

/** By thread, because each stops by itself and the first may be done before the others, or have ended. */
async function lookAt(pid: number): Promise<ProcessLook> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const stats = await Promise.all(threads.map((thread) => statFields(`${pid}/task/${thread}`)));
  const there = stats.filter(({ length }) => length > 1);
  return { pid, parent: there[0] && Number(there[0][1]), states: there.map(([state = '']) => state) };
}

export async function stateLetter(pid: number): Promise<string | undefined> {
  return (await statFields(String(pid)))[0];
}

/** From the state on: the name before it is in parentheses and may hold anything. */
async function statFields(process: string): Promise<readonly string[]> {
  const stat = await readFile(`/proc/${process}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
