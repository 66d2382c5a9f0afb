/** A command in a terminal of this process. Its output is kept as every background command's is; it ends when this process does. */
import { constants, open } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type * as NodePty from '@lydell/node-pty';
import type { Clock } from '../../core/clock.ts';
import { sleep } from '../../core/clock.ts';
import type { PtySize } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import { LogWriter } from './command-log.ts';
import { noteTimeout, writeExit, writeOwnRunner } from './command-record.ts';
import { makeFifos } from './fifo-pool.ts';
import { closingInherited } from './inherited-descriptors.ts';
import type { LaunchLine } from './launch-line.ts';

export interface PtySession {
  write(data: string | Uint8Array): void;
  resize(size: PtySize): void;
  readonly ended: Promise<void>;
}

export interface PtyOptions {
  readonly dir: string;
  readonly line: LaunchLine;
  readonly size: PtySize;
  readonly clock: Clock;
  readonly timeoutMs: number | undefined;
  kill(): Promise<void>;
}

const openFd = promisify(open);
const KILL_AGAIN_MS = 1_000;

/** UNSUPPORTED when the optional package for terminals is not installed. */
export async function startPty(options: PtyOptions): Promise<PtySession> {
  const { dir, clock } = options;
  const { spawn } = await loadPty();
  await writeOwnRunner(dir);
  const line = await withInput(options.line, dir, clock);
  const { cols, rows } = options.size;
  const [file = '', ...args] = await closingInherited([line.file, ...line.args]);
  const terminal = spawn(file, args, {
    cols,
    rows,
    encoding: null,
    name: line.env['TERM'] ?? 'xterm-256color',
    cwd: line.cwd ?? '/',
    env: { ...line.env },
  });
  const log = new LogWriter(dir, 'stdout');
  terminal.onData((data: string | Buffer) => {
    terminal.pause();
    void log
      .append(Buffer.from(data as Buffer))
      .catch(() => undefined)
      .finally(() => terminal.resume());
  });
  let hasEnded = false;
  let cancelTimeout = (): void => undefined;
  const timeOut = (): void => {
    // One that cannot be ended now, for want of descriptors or because the kernel holds it, is not left to run.
    const again = (): void => void (cancelTimeout = clock.schedule(KILL_AGAIN_MS, timeOut));
    noteTimeout(dir)
      .catch(() => undefined)
      .then(() => options.kill())
      .catch(() => hasEnded || again());
  };
  if (options.timeoutMs !== undefined) cancelTimeout = clock.schedule(options.timeoutMs, timeOut);
  const ended = new Promise<void>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      hasEnded = true;
      cancelTimeout();
      const status = signal === undefined || signal === 0 ? exitCode : 128 + signal;
      // After the last output: who sees the exit has all of it.
      void log
        .append(new Uint8Array())
        .catch(() => undefined)
        .then(() => writeExit(dir, status))
        .catch(() => undefined)
        .then(resolve);
    });
  });
  return {
    ended,
    write: (data) => terminal.write(data as string),
    resize: (size) => terminal.resize(size.cols, size.rows),
  };
}

async function loadPty(): Promise<typeof NodePty> {
  try {
    return await import('@lydell/node-pty');
  } catch (cause) {
    throw new SubletError('UNSUPPORTED', 'Terminals need the package @lydell/node-pty, which did not load.', {
      hint: 'npm install @lydell/node-pty',
      cause,
    });
  }
}

/** A terminal has no descriptor 3 to inherit, so a shell opens it from a FIFO that lives for that moment. */
async function withInput(line: LaunchLine, dir: string, clock: Clock): Promise<LaunchLine> {
  if (line.input === undefined) return line;
  const fifo = join(dir, 'input');
  await makeFifos([fifo]);
  void writeWhenOpened(fifo, line.input, clock)
    .catch(() => undefined)
    .then(() => unlink(fifo))
    .catch(() => undefined);
  return {
    ...line,
    file: '/bin/sh',
    args: ['-c', 'exec 3<"$1"; shift; exec "$@"', 'sh', fifo, line.file, ...line.args],
  };
}

async function writeWhenOpened(fifo: string, text: string, clock: Clock): Promise<void> {
  const fd = await openWriter(fifo, clock);
  const socket = new Socket({ fd, readable: false, writable: true });
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.end(text, () => resolve()));
  socket.destroy();
}

/** Without waiting in the kernel, which would occupy one of the few threads for file work. */
async function openWriter(fifo: string, clock: Clock): Promise<number> {
  for (let tries = 0; ; tries++) {
    try {
      return await openFd(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO' || tries === 1000) throw error;
      await sleep(clock, 5);
    }
  }
}
