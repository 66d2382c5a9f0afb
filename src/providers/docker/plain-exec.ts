/** One program run by the engine itself, for images that have no shell to run it. */
import { Readable, Writable } from 'node:stream';
import type { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import type { CommandResult, RunOptions } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import { type ProcessExit, runProcess } from '../../provider/posix/run-process.ts';
import { commandArgv, shellExports } from '../../provider/posix/shell-quote.ts';
import type { DockerApi } from './docker-api.ts';
import { isLocal } from './engine-endpoint.ts';
import { execBegun, type ExecGate } from './exec-gate.ts';
import { StreamDemux } from './stream-demux.ts';

export interface PlainExec {
  readonly gate: ExecGate;
  readonly containerId: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Default: the container's. */
  readonly user?: string | undefined;
}

/** The engine closes the streams a moment before it knows the exit code. */
const EXIT_LOOKS = 50;
/** Podman's words, in place of the output, when a program ends before its input does. */
const OUTPUT_DROPPED = /^Error: (read|write) unixpacket \S+: (read|write): connection reset by peer$/m;
const NO_SUCH_PROGRAM = /executable file not found|no such file or directory/i;

export async function runPlainExec(
  api: DockerApi,
  clock: Clock,
  exec: PlainExec,
  options: RunOptions,
): Promise<CommandResult> {
  // Names that no shell can hold are refused everywhere alike.
  shellExports(exec.env);
  const begun = await exec.gate.begin(exec.containerId, () => begin(api, clock, exec, options), options.signal);
  if (begun === undefined) return missingProgram(exec.command);
  const { execId, streams } = begun;
  const exit = streams.closed.then(() => exitOf(api, execId));
  const result = await runProcess({ ...streams, exit }, options, { clock, killTree: () => killOnHost(api, execId) });
  if (options.stdin !== undefined && OUTPUT_DROPPED.test(result.stderr)) throw outputDroppedError(exec.command);
  // The engine's own words, in place of the program's output.
  const said = result.stdout + result.stderr;
  const isMissing =
    (result.exitCode ?? 0) >= 126 && said.startsWith('OCI runtime exec failed') && NO_SUCH_PROGRAM.test(said);
  return isMissing ? missingProgram(exec.command) : result;
}

/** undefined when the image has no such program. */
async function begin(
  api: DockerApi,
  clock: Clock,
  exec: PlainExec,
  options: RunOptions,
): Promise<{ readonly execId: string; readonly streams: ExecStreams } | undefined> {
  const execId = await api.createExec(
    exec.containerId,
    {
      Cmd: commandArgv(exec.command),
      Env: Object.entries(exec.env).map(([name, value]) => `${name}=${value}`),
      WorkingDir: exec.cwd,
      ...(exec.user === undefined ? {} : { User: exec.user }),
      AttachStdin: options.stdin !== undefined,
      AttachStdout: true,
      AttachStderr: true,
    },
    options.signal,
  );
  try {
    // Listened to at once, so that no end of it is missed.
    const streams = takeApart(await api.startExec(execId), options.stdin !== undefined);
    await execBegun(api, clock, execId);
    return { execId, streams };
  } catch (cause) {
    if (SubletError.is(cause) && NO_SUCH_PROGRAM.test(cause.message)) return undefined;
    throw cause;
  }
}

interface ExecStreams {
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly closed: Promise<void>;
}

function takeApart(socket: Socket, hasInput: boolean): ExecStreams {
  const read = (): void => void socket.resume();
  const streams = { stdout: new Readable({ read }), stderr: new Readable({ read }) };
  const demux = new StreamDemux((stream, chunk) => {
    if (!streams[stream].destroyed && !streams[stream].push(chunk)) socket.pause();
  });
  socket.on('data', (chunk: Buffer) => demux.push(chunk));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) =>
    socket.once('close', () => {
      for (const stream of [streams.stdout, streams.stderr]) if (!stream.destroyed) stream.push(null);
      resolve();
    }),
  );
  const stdin = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void socket.write(chunk, (error) => done(error)),
    final: (done) => void socket.end(() => done()),
  });
  return { stdin: hasInput ? stdin : null, ...streams, closed };
}

async function exitOf(api: DockerApi, execId: string): Promise<ProcessExit> {
  for (let look = 0; look < EXIT_LOOKS; look++) {
    const details = await api.inspectExec(execId).catch(() => undefined);
    if (details === undefined) break;
    if (!details.Running) return { exitCode: details.ExitCode, signal: undefined };
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { exitCode: null, signal: undefined };
}

/** Without a shell inside, only the machine of the engine can end a process. */
async function killOnHost(api: DockerApi, execId: string): Promise<void> {
  const { Running, Pid } = await api.inspectExec(execId);
  if (!Running) return;
  try {
    if (!isLocal(api.client.endpoint) || Pid <= 0) throw new Error('the engine is on another machine');
    process.kill(Pid, 'SIGKILL');
  } catch (cause) {
    throw new SubletError('PROVIDER_UNAVAILABLE', `The command cannot be ended: ${(cause as Error).message}.`, {
      cause,
      hint: 'The image has no shell to end it from inside. Destroy the sandbox, or use an image with sh.',
    });
  }
}

function outputDroppedError([program = '']: readonly string[]): SubletError {
  return new SubletError(
    'PROVIDER_UNAVAILABLE',
    `Podman dropped the output of ${program}, which ended before it had read its input.`,
    { hint: 'Give it no input, or use an image with sh, where the rest of the input is read for it.' },
  );
}

function missingProgram([program = '']: readonly string[]): CommandResult {
  const stderr = `${program}: not found\n`;
  return {
    exitCode: 127,
    stdout: '',
    stderr,
    durationMs: 0,
    timedOut: false,
    truncated: false,
    stdoutBytes: 0,
    stderrBytes: Buffer.byteLength(stderr),
  };
}
