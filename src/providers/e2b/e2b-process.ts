/**
 * A program in a sandbox, through the SDK's client of the process service. Not through `commands.run`: that decodes output as
 * text and keeps all of it, and starts everything in a login shell.
 */
import { Readable, Writable } from 'node:stream';
import type { Sandbox } from 'e2b';
import { SubletError } from '../../core/errors.ts';
import type { RemoteProcess, RemoteRequest } from '../../provider/posix/inside/remote-commands.ts';
import type { TerminalChannel, TerminalRequest } from '../../provider/posix/inside/inside-terminal.ts';
import type { ProcessExit } from '../../provider/posix/run-process.ts';

type Output = { readonly case: 'stdout' | 'stderr' | 'pty'; readonly value: Uint8Array };

type ProcessEvent =
  | { readonly case: 'start'; readonly value: { readonly pid: number } }
  | { readonly case: 'data'; readonly value: { readonly output: Output | { readonly case: undefined } } }
  | {
      readonly case: 'end';
      readonly value: { readonly exitCode: number; readonly exited: boolean; readonly status: string };
    }
  | { readonly case: 'keepalive' | undefined };

interface ProcessClient {
  start(
    request: {
      readonly process: {
        readonly cmd: string;
        readonly args: readonly string[];
        readonly envs: Readonly<Record<string, string>>;
      };
      readonly stdin?: boolean;
      readonly pty?: { readonly size: { readonly cols: number; readonly rows: number } };
    },
    options: { readonly signal: AbortSignal; readonly headers: Readonly<Record<string, string>> },
  ): AsyncIterable<{ readonly event?: { readonly event: ProcessEvent } }>;
}

/** Says why the end of something in the sandbox is not known. */
export type Explain = (cause: unknown) => Promise<SubletError>;

const HEADERS = { 'Keepalive-Ping-Interval': '50' };
/** One request carries at most this much input. */
const INPUT_BYTES = 512 * 1024;
const SIGNALS: Readonly<Record<string, string>> = { killed: 'SIGKILL', terminated: 'SIGTERM', interrupt: 'SIGINT' };

export async function startProcess(sandbox: Sandbox, request: RemoteRequest, explain: Explain): Promise<RemoteProcess> {
  const [cmd, ...args] = request.argv;
  const run = await begin(sandbox, { process: { cmd, args, envs: request.env }, stdin: request.stdin }, explain);
  let demand = (): void => undefined;
  const read = (): void => demand();
  const destroy = (_error: Error | null, done: (error?: Error | null) => void): void => {
    demand();
    if (stdout.destroyed && stderr.destroyed) run.abort();
    done();
  };
  const stdout: Readable = new Readable({ read, destroy });
  const stderr: Readable = new Readable({ read, destroy });
  const streams = { stdout, stderr };
  const take = ({ case: kind, value }: Output): Promise<void> | undefined => {
    const stream = kind === 'stderr' ? streams.stderr : streams.stdout;
    if (stream.destroyed || stream.push(value)) return undefined;
    return new Promise((resolve) => (demand = resolve));
  };
  let lost: unknown;
  const exit = follow(run, take)
    .catch((cause: unknown): ProcessExit => {
      lost = cause;
      return { exitCode: null, signal: undefined };
    })
    .finally(() => {
      for (const stream of [stdout, stderr]) if (!stream.destroyed) stream.push(null);
    });
  return {
    stdin: request.stdin ? inputOf(sandbox, run.pid) : null,
    stdout,
    stderr,
    exit,
    failure: async () => (lost === undefined ? undefined : explain(lost)),
  };
}

export async function openE2bTerminal(
  sandbox: Sandbox,
  { argv, env, size }: TerminalRequest,
  explain: Explain,
): Promise<TerminalChannel> {
  const [cmd, ...args] = argv;
  const run = await begin(sandbox, { process: { cmd, args, envs: env }, pty: { size } }, explain);
  const early: Uint8Array[] = [];
  let take = (chunk: Uint8Array): void => void early.push(chunk);
  const exit = follow(run, ({ value }) => {
    take(value);
    return undefined;
  }).then(
    ({ exitCode }) => exitCode,
    () => null,
  );
  return {
    exit,
    onData: (consume) => {
      for (const chunk of early.splice(0)) consume(chunk);
      take = consume;
    },
    write: (data) => sandbox.pty.sendInput(run.pid, Buffer.from(data as string)),
    resize: (wanted) => sandbox.pty.resize(run.pid, wanted),
  };
}

interface Run {
  readonly pid: number;
  readonly events: AsyncIterator<{ readonly event?: { readonly event: ProcessEvent } }>;
  abort(): void;
}

async function begin(sandbox: Sandbox, request: Parameters<ProcessClient['start']>[0], explain: Explain): Promise<Run> {
  const leave = new AbortController();
  const events = clientOf(sandbox).start(request, { signal: leave.signal, headers: HEADERS })[Symbol.asyncIterator]();
  try {
    const first = await events.next();
    const event = first.done === true ? undefined : first.value.event?.event;
    if (event?.case !== 'start') throw new Error('the stream did not begin with a start');
    return { pid: event.value.pid, events, abort: () => leave.abort() };
  } catch (cause) {
    leave.abort();
    throw await explain(cause);
  }
}

/** Rejects when the stream ends before the process does. */
async function follow(run: Run, take: (output: Output) => Promise<void> | undefined): Promise<ProcessExit> {
  for (;;) {
    const next = await run.events.next();
    if (next.done === true) throw new Error('the stream ended before the command did');
    const event = next.value.event?.event;
    if (event?.case === 'data' && event.value.output.case !== undefined) await take(event.value.output);
    if (event?.case !== 'end') continue;
    // To its last frame, so that the connection can be used again.
    void run.events.next().catch(() => undefined);
    const { exitCode, exited, status } = event.value;
    if (exited) return { exitCode, signal: undefined };
    return { exitCode: null, signal: SIGNALS[status.replace(/^signal: /, '')] };
  }
}

/** In order, one request at a time. A process that has ended takes no more, which is its right. */
function inputOf(sandbox: Sandbox, pid: number): Writable {
  const gone = (cause: unknown): Error =>
    Object.assign(new Error('the process takes no more input', { cause }), { code: 'EPIPE' });
  return new Writable({
    highWaterMark: INPUT_BYTES,
    async write(chunk: Buffer, _encoding, done) {
      try {
        for (let at = 0; at < chunk.length; at += INPUT_BYTES) {
          await sandbox.commands.sendStdin(pid, chunk.subarray(at, at + INPUT_BYTES));
        }
        done();
      } catch (cause) {
        done(gone(cause));
      }
    },
    async final(done) {
      const failure = await sandbox.commands.closeStdin(pid).then(
        () => undefined,
        (cause: unknown) => gone(cause),
      );
      done(failure);
    },
  });
}

function clientOf(sandbox: Sandbox): ProcessClient {
  const { rpc } = sandbox.commands as unknown as { readonly rpc?: ProcessClient };
  if (rpc !== undefined && typeof rpc.start === 'function') return rpc;
  throw new SubletError('UNSUPPORTED', 'This version of the package e2b has no client of the process service.', {
    hint: 'npm install e2b@2.51.0',
  });
}
