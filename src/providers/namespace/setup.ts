/** The process that makes a sandbox's namespaces and becomes its first one: its pipes, and what it says on its way. */
import { SubletError } from '../../core/errors.ts';
import { withoutInherited } from '../../provider/posix/inherited-descriptors.ts';
import type { ChildPipe, PipedChild } from '../../provider/posix/piped-child.ts';
import { spawnPipedChild } from '../../provider/posix/spawn-piped-child.ts';
import { setupError } from './namespace-errors.ts';
import { type Privileges, SETUP_ENV } from './privileges.ts';
import { SETUP } from './setup-script.ts';

/** Longer than anything the scripts say, and more than they have kinds of lines. */
const MAX_STATUS_LINE = 512;
const MAX_STATUS_KINDS = 32;
const MAX_ERRORS = 4_000;

/** Until it is destroyed; or until its maker ends, whatever runs in it; or the same, made for one command. */
export type Life = 'free' | 'owned' | 'once';

/** Its status lines are promises. Whichever step fails, the next wait tells why. */
export class Setup {
  readonly child: PipedChild;
  /** This process is there for its sandbox alone: what keeps its event loop waiting keeps nobody else. */
  readonly isAlone: boolean;
  /** What the setup reads; as long as it is open an owned sandbox lives. */
  readonly lifeline: ChildPipe;
  /** Rejects when the setup ends or is aborted. */
  readonly ended: Promise<never>;
  /** Where the root is moved: tells when. */
  readonly #mover: ChildPipe | undefined;
  /** Its status lines, and between them whatever its programs say on standard error. */
  readonly #status: ChildPipe;
  readonly #lines = new Map<string, string>();
  readonly #waiters = new Map<string, (value: string) => void>();
  #rest = '';
  #errors = '';
  #fail: (error: Error) => void = () => undefined;

  constructor(child: PipedChild, isAlone: boolean) {
    this.child = child;
    this.isAlone = isAlone;
    const [, , status, lifeline, , mover] = child.pipes;
    if (status === undefined || lifeline === undefined) throw setupError(null, 'its pipes could not be made');
    [this.lifeline, this.#status, this.#mover] = [lifeline, status, mover];
    this.ended = new Promise((_, reject) => (this.#fail = reject));
    this.ended.catch(() => undefined);
    status.onData((chunk) => this.#hear(chunk));
    void child.exited.then(() => this.failure()).then((error) => this.#fail(error));
  }

  get exited(): Promise<void> {
    return this.child.exited;
  }

  /** Resolves when none is left who could say anything. */
  get heard(): Promise<void> {
    return this.#status.heard;
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
    return this.child.code.then(
      (code) => setupError(code, this.#errors + this.#rest),
      (cause: Error) => setupError(null, cause.message),
    );
  }

  /** Done: nothing of it keeps this process alive. Only an owned sandbox will learn of our end, and one for one command tells of its. */
  letGo(life: Life): void {
    this.setReferenced(false);
    if (life !== 'once') this.#status.destroy();
    if (life === 'free') this.lifeline.destroy();
  }

  /** Its end counts too: a sandbox that is killed says nothing more. */
  setStatusReferenced(referenced: boolean): void {
    for (const part of [this.#status, this.child]) {
      if (referenced) part.ref();
      else part.unref();
    }
  }

  /** While it waits ahead of need it keeps nobody alive either. */
  setReferenced(referenced: boolean): void {
    for (const part of [this.#status, this.lifeline, this.#mover, this.child]) {
      if (referenced) part?.ref();
      else part?.unref();
    }
  }

  /** By its first process where that is known: its parent ends after it, and, killed alone, would be seen to end before it. */
  abandon(init?: number): void {
    this.child.ref();
    try {
      if (init === undefined || this.child.hasEnded) this.child.kill();
      else process.kill(init, 'SIGKILL');
    } catch {
      // It has ended, and its parent is about to.
    }
    for (const stream of [this.#status, this.lifeline, this.#mover]) stream?.destroy();
  }

  #hear(chunk: Uint8Array): void {
    const lines = (this.#rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString()).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.length > 1 && line[1] !== ' ') {
        if (this.#errors.length < MAX_ERRORS) this.#errors += `${line.slice(0, MAX_STATUS_LINE)}\n`;
        continue;
      }
      const [letter, said] = [line.slice(0, 1), line.slice(2, MAX_STATUS_LINE)];
      this.#lines.set(letter, said);
      this.#waiters.get(letter)?.(said);
    }
    // An agent that gets hold of the pipe while its only command runs must not pile up anything here.
    if (this.#rest.length > MAX_STATUS_LINE) this.#rest = '';
    if (this.#lines.size > MAX_STATUS_KINDS) this.#lines.clear();
  }
}

export function spawnSetup(privileges: Privileges, isAlone = false): Setup {
  const [file = '', ...rest] = privileges.unshare;
  const stdio = withoutInherited([
    'ignore',
    'ignore',
    'pipe',
    'pipe',
    // The script's own name for the first.
    'ignore',
    ...(privileges.movesRoot ? (['pipe'] as const) : []),
  ]);
  const inner = String(privileges.innerUserNamespaces);
  const args = [...rest, 'sh', '-c', SETUP, 'sh', inner, ...privileges.drop, 'sh', '/run/sublet/scripts/init'];
  // In a session of its own: the terminal's Ctrl-C is for the manager to handle.
  return new Setup(spawnPipedChild({ file, args, cwd: '/', env: SETUP_ENV, stdio }), isAlone);
}
