/**
 * Finds and kills whole process trees by a tag that every descendant inherits.
 *
 * The tag is the soft limit RLIMIT_LOCKS. Linux has not enforced that limit since 2.4, fork and exec pass it on, and neither
 * `setsid`, a double fork nor `env -i` sheds it; `/proc/<pid>/limits` shows it. A process that sets the limit itself leaves
 * the tree: a tag finds what ran away by habit, not what hides. Ending the sandbox ends that too.
 */
import { kernelRandom } from './kernel-random.ts';
import { readFile, readlink } from 'node:fs/promises';
import { SubletError } from '../../core/errors.ts';
import type { RandomBytes } from '../../core/ids.ts';
import { type Judgement, searchProcesses } from './search-processes.ts';

/** A decimal number below 2^63: 32 bits of the group, 31 of the command. */
export type ProcessTag = string;
/** All tags that were made with it: one sandbox's commands. A decimal number below 2^32. */
export type TagGroup = string;

export type KillSignal = 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGHUP' | 'SIGSTOP' | 'SIGCONT';

export interface TaggedQuery {
  /** Exactly this tag, or every tag of `group`. */
  readonly tag?: ProcessTag | undefined;
  readonly group?: TagGroup | undefined;
  /** Only processes in the same PID namespace as this one. */
  readonly inPidNamespaceOf?: number | undefined;
}

const COMMAND_BITS = 31n;
/** So often in a row nothing of a tree is found before it counts as ended: the kernel's numbers may begin anew during one. */
const EMPTY_LOOKS = 2;
/** A tree that is still there after this many rounds, a few seconds, is in the kernel's hands or another user's. */
const MAX_KILL_ROUNDS = 200;

export function newTagGroup(random: RandomBytes = kernelRandom): TagGroup {
  return String(firstUint32(random(4)));
}

export function newTag(group: TagGroup = newTagGroup(), random: RandomBytes = kernelRandom): ProcessTag {
  const command = firstUint32(random(4)) & 0x7fff_ffff;
  return String((BigInt(group) << COMMAND_BITS) | BigInt(command));
}

function firstUint32({ buffer, byteOffset }: Uint8Array): number {
  return new DataView(buffer, byteOffset).getUint32(0);
}

/** A shell line that tags the shell and all that it starts: dash and busybox say -w, bash -x. */
export function tagScript(tag: ProcessTag): string {
  return `ulimit -S -w ${tag} 2>/dev/null || ulimit -S -x ${tag} 2>/dev/null`;
}

/** Host pids, zombies left out. */
export async function findTagged(query: TaggedQuery): Promise<number[]> {
  return searchProcesses(await judgeOf(query));
}

/**
 * SIGKILL (the default) returns when nothing tagged is left; any other signal is sent once to each process there is.
 * Returns how many processes were signalled. PROVIDER_UNAVAILABLE when some do not die.
 */
export async function killTagged(query: TaggedQuery, signal: KillSignal = 'SIGKILL'): Promise<number> {
  const signalled = new Set<number>();
  let empty = 0;
  for (let round = 0; empty < EMPTY_LOOKS; round++) {
    const pids = await signalTagged(query, signal, signalled).catch((cause: unknown) => {
      // Who could not look may be able to soon.
      if (signal !== 'SIGKILL' || round === MAX_KILL_ROUNDS) throw cause;
      return undefined;
    });
    if (signal !== 'SIGKILL') break;
    empty = pids?.length === 0 ? empty + 1 : 0;
    if (round === MAX_KILL_ROUNDS) throw unkillable(pids ?? []);
    if (round > 2 && empty === 0) await pause(Math.min(round, 20));
  }
  return signalled.size;
}

async function signalTagged(query: TaggedQuery, signal: KillSignal, signalled: Set<number>): Promise<number[]> {
  const judge = await judgeOf(query);
  return searchProcesses(async (pid) => {
    const judgement = await judge(pid);
    // At once: by the end of the look it may have forked and exited.
    if (judgement === 'sought' && sendSignal(pid, signal)) signalled.add(pid);
    return judgement;
  });
}

async function judgeOf(query: TaggedQuery): Promise<(pid: number) => Promise<Judgement>> {
  const namespace = query.inPidNamespaceOf === undefined ? undefined : await pidNamespace(query.inPidNamespaceOf);
  return async (pid) => {
    const tag = await tagOf(pid);
    if (tag === undefined) return 'gone';
    if (!isWanted(tag, query)) return 'other';
    const own = namespace === undefined ? undefined : await pidNamespace(pid);
    if (await isZombie(pid)) return 'gone';
    return own === namespace ? 'sought' : 'other';
  };
}

/** "unlimited" where nobody has set one, undefined when the process is gone. */
async function tagOf(pid: number): Promise<string | undefined> {
  const limits = await readProc(`/proc/${pid}/limits`);
  return /^Max file locks\s+(\w+)/m.exec(limits)?.[1];
}

function isWanted(tag: string, { tag: wanted, group }: TaggedQuery): boolean {
  if (group === undefined || tag === 'unlimited') return tag === wanted;
  return String(BigInt(tag) >> COMMAND_BITS) === group;
}

async function isZombie(pid: number): Promise<boolean> {
  const stat = await readProc(`/proc/${pid}/stat`);
  // The name in parentheses may itself contain anything, so the state is what follows the last one.
  return stat === '' || /^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')));
}

async function pidNamespace(pid: number): Promise<string | undefined> {
  return readlink(`/proc/${pid}/ns/pid`).catch((cause: unknown) => unlessShort(cause, undefined));
}

/** Empty when the process is gone or not ours to see. */
async function readProc(path: string): Promise<string> {
  return readFile(path, 'latin1').catch((cause: unknown) => unlessShort(cause, ''));
}

/** Who has no descriptor or memory left to look has not seen that nothing is there. */
function unlessShort<T>(cause: unknown, absent: T): T {
  if (['EMFILE', 'ENFILE', 'ENOMEM'].includes((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
  return absent;
}

function sendSignal(pid: number, signal: KillSignal): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function unkillable(pids: readonly number[]): SubletError {
  return new SubletError('PROVIDER_UNAVAILABLE', `Processes ${pids.join(', ')} do not end.`, {
    details: { pids },
    hint: 'They are stuck in the kernel, frozen, or belong to another user. Try again later.',
  });
}
