/** Starts a host process whose three streams are real pipes. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { SubletError } from '../../core/errors.ts';
import { openAnonymousPipe } from './anonymous-pipe.ts';
import type { FifoPool, Pipe } from './fifo-pool.ts';
import { closeFd } from './fifo-pool.ts';
import type { LaunchLine } from './launch-line.ts';
import { PipeReader } from './pipe-reader.ts';
import type { ProcessExit, ProcessStreams } from './run-process.ts';

export interface PipedProcess extends ProcessStreams {
  readonly pid: number;
}

export interface PipedOptions {
  /** Without it standard input is /dev/null. */
  readonly stdin: boolean;
}

/** PROVIDER_UNUSABLE when the program cannot be started. */
export async function spawnPiped(line: LaunchLine, pool: FifoPool, options: PipedOptions): Promise<PipedProcess> {
  const pipes = await Promise.all([pool.take(), pool.take(), ...(options.stdin ? [openAnonymousPipe()] : [])]);
  const [stdout, stderr, stdin] = pipes as [Pipe, Pipe, Pipe | undefined];
  const theirs = [stdout.writeFd, stderr.writeFd, ...(stdin === undefined ? [] : [stdin.readFd])];
  const ours = [stdout.readFd, stderr.readFd, ...(stdin === undefined ? [] : [stdin.writeFd])];
  try {
    const child = spawn(line.file, line.args, {
      cwd: line.cwd,
      env: line.env,
      detached: true,
      stdio: [
        stdin?.readFd ?? 'ignore',
        stdout.writeFd,
        stderr.writeFd,
        ...(line.input === undefined ? [] : (['pipe'] as const)),
      ],
    });
    const exit = exitOf(child);
    const pid = await startedPid(child, line);
    sendInput(child, line.input);
    return {
      pid,
      exit,
      stdin: stdin === undefined ? null : new Socket({ fd: stdin.writeFd, readable: false, writable: true }),
      stdout: new PipeReader(stdout.readFd),
      stderr: new PipeReader(stderr.readFd),
    };
  } catch (error) {
    await Promise.all(ours.map((fd) => closeFd(fd)));
    throw error;
  } finally {
    await Promise.all(theirs.map((fd) => closeFd(fd)));
  }
}

/** Resolves with how it ended, whenever it is asked. */
export function exitOf(child: ChildProcess): Promise<ProcessExit> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal: signal ?? undefined }));
    child.once('error', () => resolve({ exitCode: null, signal: undefined }));
  });
}

/** A child with Node's own pipes as streams for `runProcess`. Call it in the same tick as `spawn`. */
export function childStreams(child: ChildProcess): ProcessStreams {
  if (child.stdout === null || child.stderr === null) {
    throw new SubletError('INTERNAL', 'The child process was not started with pipes.');
  }
  return { stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exit: exitOf(child) };
}

function startedPid(child: ChildProcess, line: LaunchLine): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child.pid as number));
    child.once('error', (cause) => {
      reject(new SubletError('PROVIDER_UNUSABLE', `${line.file} could not be started: ${cause.message}`, { cause }));
    });
  });
}

/** Written to the process's descriptor 3. A process that does not read it is no error. */
function sendInput(child: ChildProcess, input: string | undefined): void {
  const stream = child.stdio[3];
  if (input === undefined || !(stream instanceof Socket)) return;
  stream.on('error', () => undefined);
  stream.end(input);
}
