/** A child process by bare handles. */
import { getSystemErrorName } from 'node:util';
import type { Bare, BarePipe, BareProcess } from './bare-handles.ts';
import type { Stdio } from './inherited-descriptors.ts';
import type { ChildPipe, PipedChild, PipedChildOptions } from './piped-child.ts';

const SIGKILL = 9;

export function spawnBare(bare: Bare, { file, args, cwd, env, stdio }: PipedChildOptions): PipedChild {
  const pipes = stdio.map((kind) => (kind === 'pipe' ? new BareChildPipe(bare) : undefined));
  const child = bare.newProcess();
  const made = new BareChild(child, pipes);
  const failure = child.spawn({
    file,
    args: [file, ...args],
    cwd,
    envPairs: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    detached: true,
    stdio: stdio.map((kind, fd) => toDescription(kind, pipes[fd])),
  });
  if (failure !== 0) made.fail(new Error(`spawn ${file} ${getSystemErrorName(failure)}`));
  return made;
}

function toDescription(kind: Stdio, pipe: BareChildPipe | undefined): object {
  if (typeof kind === 'number') return { type: 'fd', fd: kind };
  return pipe === undefined ? { type: 'ignore' } : { type: 'pipe', handle: pipe.handle };
}

class BareChild implements PipedChild {
  readonly pipes: readonly (BareChildPipe | undefined)[];
  readonly exited: Promise<void>;
  readonly code: Promise<number | null>;
  readonly #child: BareProcess;
  #hasEnded = false;
  #onExit: () => void = () => undefined;
  #onFail: (cause: Error) => void = () => undefined;

  constructor(child: BareProcess, pipes: readonly (BareChildPipe | undefined)[]) {
    this.#child = child;
    this.pipes = pipes;
    const heard = pipes.flatMap((pipe) => (pipe === undefined ? [] : [pipe.heard]));
    this.exited = new Promise((resolve) => (this.#onExit = resolve));
    this.code = new Promise((resolve, reject) => {
      this.#onFail = reject;
      child.onexit = (exitCode, signal) => {
        this.#end();
        void Promise.all(heard).then(() => resolve(signal === '' ? exitCode : null));
      };
    });
    this.code.catch(() => undefined);
  }

  get pid(): number | undefined {
    return this.#hasEnded ? undefined : this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  fail(cause: Error): void {
    this.#onFail(cause);
    this.#end();
  }

  kill(): void {
    if (!this.#hasEnded) this.#child.kill(SIGKILL);
  }

  ref(): void {
    if (!this.#hasEnded) this.#child.ref();
  }

  unref(): void {
    if (!this.#hasEnded) this.#child.unref();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#child.close();
    // What was never listened to has nobody who would hear its end.
    for (const pipe of this.pipes) if (pipe?.isHeard === false) pipe.destroy();
    this.#onExit();
  }
}

class BareChildPipe implements ChildPipe {
  readonly handle: BarePipe;
  readonly heard: Promise<void>;
  isHeard = false;
  readonly #bare: Bare;
  #isClosed = false;
  #onClose: () => void = () => undefined;

  constructor(bare: Bare) {
    this.#bare = bare;
    this.handle = bare.newPipe();
    this.heard = new Promise((resolve) => (this.#onClose = resolve));
  }

  /** What the other side can no longer read is lost, as with a stream. */
  write(text: string): void {
    if (!this.#isClosed) this.handle.writeUtf8String(this.#bare.newWrite(), text);
  }

  onData(take: (chunk: Uint8Array) => void): void {
    if (this.#isClosed) return;
    this.isHeard = true;
    this.handle.onread = (buffer) => {
      const { bytes, offset } = this.#bare.readState();
      if (bytes < 0) this.destroy();
      else if (bytes > 0 && buffer !== undefined) take(new Uint8Array(buffer, offset, bytes));
    };
    this.handle.readStart();
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.handle.close();
    this.#onClose();
  }

  ref(): void {
    if (!this.#isClosed) this.handle.ref();
  }

  unref(): void {
    if (!this.#isClosed) this.handle.unref();
  }
}
