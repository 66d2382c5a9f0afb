/** Starts a sandbox's processes: namespaces, mounts, first process, resident shell. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { SubletError } from '../../core/errors.ts';
import type { Channel } from './channel.ts';
import { setupError } from './namespace-errors.ts';
import { BASE_ENV, type Privileges } from './privileges.ts';
import { identify, type ProcessIdentity } from './process-identity.ts';
import { ResidentShell } from './resident-shell.ts';
import { SETUP } from './scripts.ts';

/** What the setup must find in place. */
export interface Prepared {
  readonly mountTable: string;
  readonly root: string;
  readonly cgroups: readonly string[];
  readonly limits: string;
  /** Its resident's pipes are made. */
  readonly channel: Channel;
}

export interface StartPlan {
  readonly privileges: Privileges;
  /** Ends when this process does. */
  readonly owned: boolean;
  /** Done while the namespaces come up. */
  prepare(): Promise<Prepared>;
  /** Called when the processes exist and nothing of the agent runs yet: records them and gives them a network. */
  onMade(init: ProcessIdentity, holder: ProcessIdentity, prepared: Prepared): Promise<void>;
}

export interface StartedSandbox {
  readonly resident: ResidentShell;
  /** Holds an owned sandbox alive. */
  readonly lifeline: Socket;
  /** Resolves when the last process of the sandbox has ended, and keeps this process alive until then. */
  end(): Promise<void>;
}

/** The resident shell that comes with the sandbox. */
export const FIRST_RESIDENT = 'first';

/** Throws when any step fails; the caller destroys what there is. */
export async function startSandbox(plan: StartPlan, signal: AbortSignal): Promise<StartedSandbox> {
  const preparing = plan.prepare();
  preparing.catch(() => undefined);
  const child = spawnSetup(plan);
  const [, , stderr, lifeline, status, mover] = child.stdio as unknown as (Socket | null)[];
  if (!stderr || !lifeline || !status || !mover) throw new SubletError('CREATE_FAILED', 'unshare could not be started.');
  for (const stream of [lifeline, mover, status, stderr]) stream.on('error', () => undefined);
  const setup = new SetupStatus(child, stderr, status, signal);
  try {
    const initPid = Number(await setup.line('p'));
    if (plan.privileges.idMap !== undefined) await mapIds(initPid, plan.privileges.idMap);
    const prepared = await Promise.race([preparing, setup.ended]);
    const cgroups = prepared.cgroups.map((dir) => `${dir}/cgroup.procs`).join(' ');
    lifeline.write(`${[prepared.mountTable, prepared.root, cgroups, prepared.limits].join('\n')}\n`);
    const [init, holder] = await Promise.all([identify(initPid), identify(child.pid as number)]);
    if (init === undefined || holder === undefined) throw await setup.failure();
    await Promise.race([plan.onMade(init, holder, prepared), setup.ended]);
    lifeline.write('recorded\n');
    await setup.line('c');
    mover.write('go\n');
    const resident = await ResidentShell.open(prepared.channel, setup.line('r'));
    resident.warm();
    await setup.line('m');
    setup.dispose();
    letGo(child, [stderr, status, mover, ...(plan.owned ? [] : [lifeline])]);
    const end = (): Promise<void> => {
      child.ref();
      return setup.exited;
    };
    return { resident, lifeline, end };
  } catch (cause) {
    setup.dispose();
    child.kill('SIGKILL');
    for (const stream of [stderr, lifeline, status, mover]) stream.destroy();
    // Whatever is being prepared must be there for the caller's clean-up to find.
    await preparing.catch(() => undefined);
    throw cause;
  }
}

function spawnSetup(plan: StartPlan): ChildProcess {
  const { privileges } = plan;
  const [program = '', ...rest] = privileges.unshare;
  const init = ['sh', '/run/sublet/scripts/init', plan.owned ? 'owned' : 'free'];
  return spawn(program, [...rest, 'sh', '-c', SETUP, 'sh', ...privileges.drop, ...init], {
    // A session of its own: the terminal's Ctrl-C is for the manager to handle.
    detached: true,
    cwd: '/',
    env: BASE_ENV,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
}

async function mapIds(pid: number, map: string): Promise<void> {
  await writeFile(`/proc/${pid}/uid_map`, map);
  await writeFile(`/proc/${pid}/gid_map`, map);
}

/** The process must not keep ours alive, nor learn of our end unless it is owned. */
function letGo(child: ChildProcess, streams: readonly Socket[]): void {
  for (const stream of streams) stream.destroy();
  child.unref();
  for (const stream of child.stdio) (stream as Socket | null)?.unref();
}

/** Status lines as promises; whichever step fails, the next wait tells why. */
class SetupStatus {
  /** Rejects when the setup ends, fails or is aborted. */
  readonly ended: Promise<never>;
  readonly exited: Promise<void>;
  readonly #lines = new Map<string, string>();
  readonly #waiters = new Map<string, (value: string) => void>();
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#fail(new SubletError('ABORTED', 'The create was aborted.', { cause: this.#signal.reason }));
  readonly #code: Promise<number | null>;
  #rest = '';
  #errors = '';
  #fail: (error: Error) => void = () => undefined;

  constructor(child: ChildProcess, stderr: Socket, status: Socket, signal: AbortSignal) {
    this.#signal = signal;
    this.ended = new Promise((_, reject) => (this.#fail = reject));
    this.ended.catch(() => undefined);
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()));
    this.#code = new Promise((resolve) => child.once('close', (code) => resolve(code)));
    stderr.on('data', (chunk: Buffer) => {
      if (this.#errors.length < 4_000) this.#errors += chunk.toString();
    });
    status.on('data', (chunk: Buffer) => this.#hear(chunk));
    child.once('error', (cause) => this.#fail(setupError(null, cause.message)));
    child.once('exit', () => void this.failure().then(this.#fail));
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** What follows the letter on its status line. */
  line(letter: string): Promise<string> {
    const seen = this.#lines.get(letter);
    if (seen !== undefined) return Promise.resolve(seen);
    return Promise.race([new Promise<string>((resolve) => this.#waiters.set(letter, resolve)), this.ended]);
  }

  async failure(): Promise<Error> {
    return setupError(await this.#code, this.#errors);
  }

  dispose(): void {
    this.#fail = () => undefined;
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  #hear(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const letter = line.slice(0, 1);
      this.#lines.set(letter, line.slice(2));
      this.#waiters.get(letter)?.(line.slice(2));
    }
  }
}
