/** Starts a child process with pipes to it: by streams, or by bare handles where this process has chosen those. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { spawnBare } from './bare-child.ts';
import { bareHandles } from './bare-handles.ts';
import type { ChildPipe, PipedChild, PipedChildOptions } from './piped-child.ts';

/** In a session of its own. */
export function spawnPipedChild(options: PipedChildOptions): PipedChild {
  const bare = bareHandles();
  if (bare !== undefined) return spawnBare(bare, options);
  const { file, args, cwd, env, stdio } = options;
  return new StreamedChild(spawn(file, args, { detached: true, cwd, env, stdio: [...stdio] }));
}

class StreamedChild implements PipedChild {
  readonly pipes: readonly (ChildPipe | undefined)[];
  readonly exited: Promise<void>;
  readonly code: Promise<number | null>;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    const sockets = child.stdio as unknown as readonly (Socket | null)[];
    this.pipes = sockets.map((socket) => (socket === null ? undefined : pipeOf(socket)));
    this.exited = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    this.code = new Promise((resolve, reject) => {
      child.once('close', resolve);
      child.once('error', reject);
    });
    this.code.catch(() => undefined);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  ref(): void {
    this.#child.ref();
  }

  unref(): void {
    this.#child.unref();
  }
}

/** The other side may end at any time: that shows as the end of the child. */
function pipeOf(socket: Socket): ChildPipe {
  socket.on('error', () => undefined);
  return {
    heard: new Promise((resolve) => socket.once('close', () => resolve())),
    write: (text) => void socket.write(text),
    onData: (take) => void socket.on('data', take),
    destroy: () => void socket.destroy(),
    ref: () => void socket.ref(),
    unref: () => void socket.unref(),
  };
}
