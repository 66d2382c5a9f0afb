/**
 * Real pipes for child processes, made from FIFOs.
 *
 * What Node calls a pipe is a socket pair, and a command cannot reopen a socket: `echo x > /dev/stderr` fails with ENXIO.
 * A FIFO can be reopened. Its mode lets every user write to it while its directory lets nobody else find it, so a command
 * that runs as another user can reopen it too.
 */
import { spawn } from 'node:child_process';
import { close, constants, open } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, unlink } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SubletError } from '../../core/errors.ts';
import { judgeMaker, makerMark } from './maker-mark.ts';
import { ownTurn } from './own-turn.ts';

/** Bare descriptors: a stream takes them over, and a FileHandle would close them a second time. */
export interface Pipe {
  readonly readFd: number;
  readonly writeFd: number;
}

const openFd = promisify(open);
export const closeFd: (fd: number) => Promise<void> = promisify(close);

/** FIFOs made by one start of `mkfifo`. */
const BATCH = 32;

export class FifoPool {
  readonly #parent: string;
  #directory: Promise<string> | undefined;
  #spare: string[] = [];
  #refill: Promise<void> | undefined;
  #made = 0;
  #closed = false;

  /** `parent` gets a directory of this pool's own, removed by `close`. */
  constructor(parent: string) {
    this.#parent = parent;
  }

  /** Both ends, already without a name in the file system. The caller closes them. */
  async take(): Promise<Pipe> {
    const path = await this.#takePath();
    // A reader that does not wait for a writer, so that neither open can hang.
    const readFd = await openFd(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return { readFd, writeFd: await openFd(path, constants.O_WRONLY) };
    } catch (error) {
      await closeFd(readFd);
      throw error;
    } finally {
      await unlink(path);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#refill?.catch(() => undefined);
    this.#spare = [];
    const directory = await this.#directory?.catch(() => undefined);
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }

  async #takePath(): Promise<string> {
    for (;;) {
      if (this.#closed) throw new SubletError('CLOSED', 'The provider is closed.');
      const path = this.#spare.pop();
      if (path !== undefined) return path;
      this.#refill ??= this.#makeMore().finally(() => {
        this.#refill = undefined;
      });
      await this.#refill;
    }
  }

  async #makeMore(): Promise<void> {
    this.#directory ??= makeDirectory(this.#parent);
    const directory = await this.#directory;
    const paths = Array.from({ length: BATCH }, () => join(directory, String(this.#made++)));
    await makeFifos(paths);
    this.#spare.push(...paths);
  }
}

/** Born with its mode: `mkfifo -m` sets it later, and whoever takes one in between has a pipe that others may not open. */
const MAKE = 'umask "$1"; shift; exec mkfifo -- "$@"';

function umaskFor(mode: string): string {
  return (0o666 & ~Number.parseInt(mode, 8)).toString(8);
}

/** What nobody waits for yet gives way to what somebody does. */
const AHEAD_NICENESS = 5;

export async function makeFifos(
  paths: readonly string[],
  { mode = '622', ahead = false }: { readonly mode?: string; readonly ahead?: boolean } = {},
): Promise<void> {
  await ownTurn();
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', MAKE, 'sh', umaskFor(mode), ...paths], { stdio: ['ignore', 'ignore', 'pipe'] });
    if (ahead && child.pid !== undefined) makeNice(child.pid);
    let message = '';
    child.stderr.on('data', (chunk: Buffer) => (message += chunk.toString()));
    child.on('error', (cause) => reject(failed(cause.message, cause)));
    child.on('close', (code) => (code === 0 ? resolve() : reject(failed(message.trim()))));
  });
}

/** It may have ended. */
function makeNice(pid: number): void {
  try {
    setPriority(pid, AHEAD_NICENESS);
  } catch {}
}

async function makeDirectory(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true });
  return mkdtemp(join(parent, makerMark()));
}

/** Pools of processes that were killed. */
export async function removeAbandonedPools(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => []))
    if (judgeMaker(name) === 'gone') await rm(join(parent, name), { recursive: true, force: true });
}

function failed(reason: string, cause?: unknown): SubletError {
  return new SubletError('PROVIDER_UNUSABLE', `mkfifo failed: ${reason}`, {
    hint: 'The state directory must be on a file system that has FIFOs, and mkfifo (coreutils) must be installed.',
    cause,
  });
}
