/** Namespaces with nothing in them yet: made ahead of need, they wait to be told what to become, and end with this process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readlinkSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { SubletError } from '../../core/errors.ts';
import { withoutInherited } from '../../provider/posix/inherited-descriptors.ts';
import { spawnTurn } from '../../provider/posix/spawn-turn.ts';
import { type CgroupHost, joinCgroups, makeCgroups, removeCgroups } from './cgroup.ts';
import { setupError } from './namespace-errors.ts';
import { BASE_ENV, type Privileges } from './privileges.ts';
import { identify, type ProcessIdentity } from './process-identity.ts';
import { BEGIN, SETUP } from './scripts.ts';

/** Longer than anything the scripts say, and more than they have kinds of lines. */
const MAX_STATUS_LINE = 512;
const MAX_STATUS_KINDS = 32;

/** Until it is destroyed; or until its maker ends, whatever runs in it; or the same, made for one command. */
export type Life = 'free' | 'owned' | 'once';

export interface Blank {
  readonly init: ProcessIdentity;
  readonly holder: ProcessIdentity;
  /** Its control groups, once its first process is in them. */
  readonly cgroups: Promise<readonly string[]>;
  readonly setup: Setup;
  /** While it waits ahead of need it keeps nobody alive. */
  setReferenced(referenced: boolean): void;
  /** Ends it and leaves nothing. */
  discard(): Promise<void>;
}

/** `name` is for its control groups and must be unique on this machine. Resolves when it goes on by itself. */
export async function makeBlank(
  privileges: Privileges,
  findCgroups: () => Promise<CgroupHost | undefined>,
  name: string,
): Promise<Blank> {
  const setup = new Setup(await spawnSetup(privileges));
  const pid = setup.line('p').then(Number);
  const made = findCgroups().then((host) => (host === undefined ? [] : makeCgroups(host, name)));
  // The kernel takes its time to move a process, which nothing before the agent's first process has to wait for.
  const cgroups = Promise.all([made, pid]).then(async ([dirs, init]) => joinCgroups(dirs, init).then(() => dirs));
  cgroups.catch(() => undefined);
  const leave = async (): Promise<void> => discard(setup, made, cgroups);
  try {
    const isMapped = mapIds(setup.child.pid, privileges.idMap);
    if (isMapped) setup.lifeline.write('mapped\n');
    const initPid = await pid;
    if (!isMapped) {
      mapIds(initPid, privileges.idMap);
      setup.lifeline.write('mapped\n');
    }
    const [init, holder] = [initPid, setup.child.pid as number].map(identify);
    if (init === undefined || holder === undefined) throw await setup.failure();
    const setReferenced = (referenced: boolean): void => setup.setReferenced(referenced);
    return { init, holder, cgroups, setup, setReferenced, discard: leave };
  } catch (cause) {
    await leave();
    throw cause;
  }
}

async function spawnSetup(privileges: Privileges): Promise<ChildProcess> {
  const [program = '', ...rest] = privileges.unshare;
  const stdio = withoutInherited([
    'ignore',
    'ignore',
    'pipe',
    'pipe',
    'pipe',
    ...(privileges.movesRoot ? (['pipe'] as const) : []),
  ]);
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

/** False when it has no user namespace of its own yet. At once: it waits for this. */
function mapIds(pid: number | undefined, map: string | undefined): boolean {
  if (map === undefined) return true;
  if (pid === undefined || readlinkSync(`/proc/${pid}/ns/user`) === readlinkSync('/proc/self/ns/user')) return false;
  for (const kind of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${kind}`, map);
  return true;
}

async function discard(
  setup: Setup,
  made: Promise<readonly string[]>,
  joined: Promise<readonly string[]>,
): Promise<void> {
  setup.abandon();
  await Promise.allSettled([setup.exited, joined]);
  await removeCgroups(await made.catch(() => []));
}

/** The setup's process: its pipes, and its status lines as promises. Whichever step fails, the next wait tells why. */
export class Setup {
  readonly child: ChildProcess;
  /** What the setup reads; as long as it is open an owned sandbox lives. */
  readonly lifeline: Socket;
  readonly exited: Promise<void>;
  /** Rejects when the setup ends or is aborted. */
  readonly ended: Promise<never>;
  readonly #stderr: Socket;
  /** Where the root is moved: tells when. */
  readonly #mover: Socket | undefined;
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
      Socket | null | undefined,
    ];
    [this.#stderr, this.lifeline, this.#status] = [stderr, lifeline, status];
    this.#mover = mover ?? undefined;
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

  /** Privileges are dropped: whatever is left to do to put the host's files out of sight is done now. */
  async hideHost(): Promise<void> {
    if (this.#mover === undefined) return;
    this.#mover.write('go\n');
    await this.line('m');
    this.#mover.destroy();
  }

  abort(signal: AbortSignal): void {
    this.#fail(new SubletError('ABORTED', 'The create was aborted.', { cause: signal.reason }));
  }

  async failure(): Promise<Error> {
    return setupError(await this.#code, this.#errors);
  }

  /** Done: nothing of it keeps this process alive. Only an owned sandbox will learn of our end, and one for one command tells of its. */
  letGo(life: Life): void {
    this.setReferenced(false);
    this.#stderr.destroy();
    if (life !== 'once') this.#status.destroy();
    if (life === 'free') this.lifeline.destroy();
  }

  setStatusReferenced(referenced: boolean): void {
    if (referenced) this.#status.ref();
    else this.#status.unref();
  }

  /** While it waits ahead of need it keeps nobody alive either. */
  setReferenced(referenced: boolean): void {
    for (const part of [this.#stderr, this.#status, this.lifeline, this.#mover, this.child]) {
      if (referenced) part?.ref();
      else part?.unref();
    }
  }

  abandon(): void {
    this.child.ref();
    this.child.kill('SIGKILL');
    for (const stream of [this.#stderr, this.#status, this.lifeline, this.#mover]) stream?.destroy();
  }

  #hear(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [letter, said] = [line.slice(0, 1), line.slice(2, MAX_STATUS_LINE)];
      this.#lines.set(letter, said);
      this.#waiters.get(letter)?.(said);
    }
    // An agent that gets hold of the pipe while its only command runs must not pile up anything here.
    if (this.#rest.length > MAX_STATUS_LINE) this.#rest = '';
    if (this.#lines.size > MAX_STATUS_KINDS) this.#lines.clear();
  }
}
