/** What is known of a background command from the files of its directory. Any process may ask. */
import { access, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { constants as osConstants } from 'node:os';
import { join } from 'node:path';
import type { CommandExit, CommandInfo } from '../../core/commands.ts';
import type { CommandId } from '../../core/ids.ts';
import type { ProcessTag } from './process-tree.ts';

export interface CommandMeta {
  readonly id: CommandId;
  readonly command: string;
  readonly startedAt: number;
  readonly pty: boolean;
  readonly stdin: boolean;
  readonly tag: ProcessTag;
}

/** The process that runs the command and will write its exit. */
export interface Runner {
  readonly bootId: string;
  readonly pid: number;
  readonly startTime: string;
}

/** A command without a runner yet is being started, for at most this long. */
const STARTING_MS = 10_000;

export async function writeMeta(dir: string, meta: CommandMeta): Promise<void> {
  await writeAtomically(join(dir, 'meta.json'), JSON.stringify(meta));
}

/** undefined when there is no such command. */
export async function readMeta(dir: string): Promise<CommandMeta | undefined> {
  const text = await readOptional(join(dir, 'meta.json'));
  return text === undefined ? undefined : (JSON.parse(text) as CommandMeta);
}

export async function readRunner(dir: string): Promise<Runner | undefined> {
  const text = await readOptional(join(dir, 'runner'));
  const [bootId, stat] = text?.endsWith('\n') === true ? text.split('\n') : [];
  return bootId === undefined || stat === undefined ? undefined : { bootId, ...parseStat(stat) };
}

/** Makes this process the runner: for a command that ends when it ends. */
export async function writeOwnRunner(dir: string): Promise<void> {
  const [bootId, stat] = await Promise.all([readBootId(), readFile('/proc/self/stat', 'latin1')]);
  await writeAtomically(join(dir, 'runner'), `${bootId}\n${stat.trim()}\n`);
}

export async function isAlive(runner: Runner): Promise<boolean> {
  const stat = await readOptional(`/proc/${runner.pid}/stat`);
  if (stat === undefined || (await readBootId()) !== runner.bootId) return false;
  const now = parseStat(stat);
  return now.startTime === runner.startTime && !/^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')));
}

export async function writeExit(dir: string, status: number): Promise<void> {
  await writeAtomically(join(dir, 'exit'), `${status}\n`);
}

/** Noted before the kill, so that the exit status can be told from an exit of the same number. */
export async function noteKill(dir: string, signal: string): Promise<void> {
  await writeAtomically(join(dir, 'killed'), signal);
}

export async function noteTimeout(dir: string): Promise<void> {
  await writeFile(join(dir, 'timed-out'), '');
}

/** undefined while it runs. */
export async function readExit(dir: string, meta: CommandMeta, now: number): Promise<CommandExit | undefined> {
  const status =
    (await readStatus(dir)) ?? ((await isRunning(dir, meta, now)) ? undefined : await readStatus(dir, null));
  return status === undefined ? undefined : toExit(dir, status);
}

export async function readInfo(dir: string, now: number): Promise<CommandInfo | undefined> {
  const meta = await readMeta(dir);
  if (meta === undefined) return undefined;
  const exit = await readExit(dir, meta, now);
  const { id, command, startedAt, pty } = meta;
  return { id, command, startedAt, pty, running: exit === undefined, exitCode: exit?.exitCode ?? null };
}

export async function commandIds(dir: string): Promise<readonly CommandId[]> {
  const names = await readdir(dir).catch(() => []);
  return names.filter((name) => name.startsWith('cmd_'));
}

export async function fileExists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function isRunning(dir: string, meta: CommandMeta, now: number): Promise<boolean> {
  const runner = await readRunner(dir);
  if (runner === undefined) return now - meta.startedAt < STARTING_MS && (await fileExists(dir));
  return isAlive(runner);
}

/** `missing` stands for a status that was never written, because the runner died. */
async function readStatus<T extends null | undefined>(dir: string, missing?: T): Promise<number | T> {
  const text = await readOptional(join(dir, 'exit'));
  return text?.endsWith('\n') === true ? Number(text) : (missing as T);
}

async function toExit(dir: string, status: number | null): Promise<CommandExit> {
  const isTimedOut = await fileExists(join(dir, 'timed-out'));
  return commandExit(status, await readOptional(join(dir, 'killed')), isTimedOut);
}

/** How it ended, from the exit status and what was noted of it. `killed` is the signal that was sent last. */
export function commandExit(status: number | null, killed: string | undefined, isTimedOut: boolean): CommandExit {
  const timedOut = status !== 0 && isTimedOut;
  const signal = isTimedOut ? 'SIGKILL' : killed;
  if (status === null) return { exitCode: null, timedOut };
  if (signal !== undefined && status === 128 + signalNumber(signal)) return { exitCode: null, signal, timedOut };
  return { exitCode: status, timedOut: false };
}

function signalNumber(name: string): number {
  return (osConstants.signals as Readonly<Record<string, number>>)[name] ?? 0;
}

function parseStat(stat: string): { readonly pid: number; readonly startTime: string } {
  // Field 22, counted behind the name in parentheses, which may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid: Number.parseInt(stat, 10), startTime: fields[19] ?? '' };
}

let bootId: Promise<string> | undefined;
function readBootId(): Promise<string> {
  bootId ??= readFile('/proc/sys/kernel/random/boot_id', 'latin1').then((text) => text.trim());
  return bootId;
}

async function readOptional(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ESRCH' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}

async function writeAtomically(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
