/**
 * Keeps commands out of a container while it is put to sleep, and the sleep back while commands are on their way in, also
 * between processes that share a state directory. Each says by a file what it is at; who was killed at it is passed over.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Clock, sleep } from '../../core/clock.ts';
import { makeDirectories } from '../../provider/posix/make-directories.ts';
import { judgeMaker, makerMark } from '../../provider/posix/maker-mark.ts';
import type { DockerApi } from './docker-api.ts';
import { isGone } from './docker-errors.ts';

type Doing = 'begins' | 'sleeps';

/** A command is in the container well before this, also on a busy machine. */
export const BEGIN_MS = 20_000;
const LOOK_MS = 10;

export class ExecGate {
  readonly #dir: string;
  readonly #clock: Clock;

  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
  }

  /** `work` brings a command into the container, and resolves when it is there. */
  begin<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#pass(containerId, 'begins', work, signal);
  }

  /** During `work` no command begins. */
  sleep<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#pass(containerId, 'sleeps', work, signal);
  }

  async #pass<T>(
    containerId: string,
    doing: Doing,
    work: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const note = join(this.#dir, `${containerId}.${doing}.${makerMark()}${randomUUID()}`);
    const until = this.#clock.elapsed() + BEGIN_MS;
    try {
      // Noted before it is looked, so that of two who come at once one sees the other.
      while (write(note)) {
        const others = this.#others(containerId, doing === 'begins' ? 'sleeps' : 'begins');
        if (others.length === 0) break;
        // Whoever takes this long was killed where nobody here can tell, or waits for an engine that hangs.
        if (this.#clock.elapsed() >= until) for (const other of others) forget(other);
        // Two that wait for each other would wait for ever: a command gives way.
        if (doing === 'begins') forget(note);
        await sleep(this.#clock, LOOK_MS, signal);
      }
      return await work();
    } finally {
      forget(note);
    }
  }

  #others(containerId: string, doing: Doing): readonly string[] {
    const prefix = `${containerId}.${doing}.`;
    const notes = readdirSync(this.#dir).filter((name) => name.startsWith(prefix));
    return notes.map((name) => join(this.#dir, name)).filter((path) => isAtIt(path, prefix));
  }
}

/**
 * Until the command is in the container, or has ended: the engine hands its connection over before that. Gives up after a
 * while, because whoever waits is better off with the connection.
 */
export async function execBegun(api: DockerApi, clock: Clock, execId: string): Promise<void> {
  const until = clock.elapsed() + BEGIN_MS;
  while (clock.elapsed() < until) {
    try {
      const { Running, Pid, ExitCode } = await api.inspectExec(execId);
      if (Pid !== 0 || (!Running && ExitCode !== null)) return;
    } catch (error) {
      if (isGone(error)) return;
      throw error;
    }
    await sleep(clock, LOOK_MS);
  }
}

/** False where the directory cannot be written: a look at the engine before each sleep has to do. */
function write(path: string): boolean {
  try {
    writeFileSync(path, '');
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') return false;
  }
  try {
    makeDirectories(dirname(path), 0o700);
    writeFileSync(path, '');
    return true;
  } catch {
    return false;
  }
}

function forget(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone, or was never there.
  }
}

function isAtIt(path: string, prefix: string): boolean {
  if (judgeMaker(path.slice(path.lastIndexOf(prefix) + prefix.length)) !== 'gone') return true;
  forget(path);
  return false;
}
