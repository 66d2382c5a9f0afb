/** Namespaces with nothing in them yet: made ahead of need, they wait to be told what to become, and end with this process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { SubletError } from '../../core/errors.ts';
import { withoutInherited } from '../../provider/posix/inherited-descriptors.ts';
import { spawnTurn } from '../../provider/posix/spawn-turn.ts';
import { type CgroupHost, joinCgroups, makeCgroups, removeCgroups } from './cgroup.ts';
import { setupError } from './namespace-errors.ts';
import { BASE_ENV, type Privileges } from './privileges.ts';
import { identify, type ProcessIdentity } from './process-identity.ts';
import { BEGIN, SETUP } from './scripts.ts';

export interface Blank {
  readonly init: ProcessIdentity;
  readonly holder: ProcessIdentity;
  readonly cgroups: readonly string[];
  readonly setup: Setup;
  /** Ends it and leaves nothing. */
  discard(): Promise<void>;
}

/** `name` is for its control groups and must be unique on this machine. The process is started before they are found. */
export async function makeBlank(
  privileges: Privileges,
  findCgroups: () => Promise<CgroupHost | undefined>,
  name: string,
  onStarted: () => void = () => undefined,
): Promise<Blank> {
  const setup = new Setup(await spawnSetup(privileges));
  onStarted();
  let cgroups: readonly string[] = [];
  try {
    const cgroupHost = await findCgroups();
    if (cgroupHost !== undefined) cgroups = await makeCgroups(cgroupHost, name);
    const initPid = Number(await setup.line('p'));
    const [init, holder] = await Promise.all([
      identify(initPid),
      identify(setup.child.pid as number),
      privileges.idMap === undefined ? undefined : mapIds(initPid, privileges.idMap),
      joinCgroups(cgroups, initPid),
    ]);
    if (init === undefined || holder === undefined) throw await setup.failure();
    setup.lifeline.write('mapped\n');
    await setup.line('b');
    return { init, holder, cgroups, setup, discard: () => discard(setup, cgroups) };
  } catch (cause) {
    await discard(setup, cgroups);
    throw cause;
  }
}

async function spawnSetup(privileges: Privileges): Promise<ChildProcess> {
  const [program = '', ...rest] = privileges.unshare;
  const stdio = await withoutInherited(['ignore', 'ignore', 'pipe', 'pipe', 'pipe', 'pipe']);
  await spawnTurn();
  return spawn(
    program,
    [
      ...rest,
      'sh',
      '-c',
      BEGIN,
      'sh',
      SETUP,
      String(privileges.innerUserNamespaces),
      ...privileges.drop,
      'sh',
      '/run/sublet/scripts/init',
    ],
    {
      // A session of its own: the terminal's Ctrl-C is for the manager to handle.
      detached: true,
      cwd: '/',
      env: BASE_ENV,
      stdio,
    },
  );
}

async function mapIds(pid: number, map: string): Promise<void> {
  await Promise.all([writeFile(`/proc/${pid}/uid_map`, map), writeFile(`/proc/${pid}/gid_map`, map)]);
}

async function discard(setup: Setup, cgroups: readonly string[]): Promise<void> {
  setup.abandon();
  await setup.exited;
  await removeCgroups(cgroups);
}

/** The setup's process: its pipes, and its status lines as promises. Whichever step fails, the next wait tells why. */
export class Setup {
  readonly child: ChildProcess;
  /** What the setup reads; as long as it is open an owned sandbox lives. */
  readonly lifeline: Socket;
  readonly mover: Socket;
  readonly exited: Promise<void>;
  /** Rejects when the setup ends or is aborted. */
  readonly ended: Promise<never>;
  readonly #stderr: Socket;
  readonly #status: Socket;
  readonly #code: Promise<number | null>;
  readonly #lines = new Map<string, string>();
  readonly #waiters = new Map<string, (value: string) => void>();
  #rest = '';
  #errors = '';
  #fail: (error: Error) => void = () => undefined;

  constructor(child: ChildProcess) {
    this.child = child;
    const [, , stderr, lifeline, status, mover] = child.stdio as unknown as [
      null,
      null,
      Socket,
      Socket,
      Socket,
      Socket,
    ];
    [this.#stderr, this.lifeline, this.#status, this.mover] = [stderr, lifeline, status, mover];
    this.ended = new Promise((_, reject) => (this.#fail = reject));
    this.ended.catch(() => undefined);
    this.exited = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    this.#code = new Promise((resolve) => child.once('close', (code) => resolve(code)));
    for (const stream of [stderr, lifeline, status, mover]) stream?.on('error', () => undefined);
    stderr?.on('data', (chunk: Buffer) => {
      if (this.#errors.length < 4_000) this.#errors += chunk.toString();
    });
    status?.on('data', (chunk: Buffer) => this.#hear(chunk));
    child.once('error', (cause) => this.#fail(setupError(null, cause.message)));
    child.once('exit', () => void this.failure().then((error) => this.#fail(error)));
  }

  /** What follows the letter on its status line. */
  line(letter: string): Promise<string> {
    const seen = this.#lines.get(letter);
    if (seen !== undefined) return Promise.resolve(seen);
    return Promise.race([new Promise<string>((resolve) => this.#waiters.set(letter, resolve)), this.ended]);
  }

  abort(signal: AbortSignal): void {
    this.#fail(new SubletError('ABORTED', 'The create was aborted.', { cause: signal.reason }));
  }

  async failure(): Promise<Error> {
    return setupError(await this.#code, this.#errors);
  }

  /** Done: nothing of it keeps this process alive, and only an owned sandbox will learn of our end. */
  letGo(owned: boolean): void {
    for (const stream of [this.#stderr, this.#status, this.mover, ...(owned ? [] : [this.lifeline])]) stream.destroy();
    this.lifeline.unref();
    this.child.unref();
  }

  /** While it waits ahead of need it keeps nobody alive either. */
  setReferenced(referenced: boolean): void {
    for (const part of [this.#stderr, this.#status, this.mover, this.lifeline, this.child]) {
      if (referenced) part.ref();
      else part.unref();
    }
  }

  abandon(): void {
    this.child.ref();
    this.child.kill('SIGKILL');
    for (const stream of [this.#stderr, this.#status, this.mover, this.lifeline]) stream?.destroy();
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
