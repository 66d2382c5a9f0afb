/** A program in a sandbox, through the SDK's exec: bytes as they are, and streams that go on where a broken connection left them. */
import { Readable, Writable } from 'node:stream';
import type { Sandbox } from 'modal';
import { type Clock, sleep } from '../../core/clock.ts';
import type { SubletError } from '../../core/errors.ts';
import type { RemoteProcess, RemoteRequest } from '../../provider/posix/inside/remote-commands.ts';
import type { ProcessExit } from '../../provider/posix/run-process.ts';

/** Says why the end of something in the sandbox is not known. */
export type Explain = (cause: unknown) => Promise<SubletError>;

/** One request carries at most this much input. */
const INPUT_BYTES = 512 * 1024;

/** A stream that has not ended so long after its program is held by another, or its connection broke. */
const SETTLE_MS = 250;
/** The SDK takes up a stream within ten seconds, or gives it up. */
const TAKE_UP_MS = 15_000;

export interface ProcessPlace {
  readonly clock: Clock;
  readonly sandbox: Sandbox;
  /** Aborts when this process ends the sandbox: nothing more comes from it. */
  readonly left: AbortSignal;
  readonly explain: Explain;
}

export async function startProcess(
  { clock, sandbox, left, explain }: ProcessPlace,
  { argv, env, stdin, isAlive }: RemoteRequest,
): Promise<RemoteProcess> {
  const words = stdin ? argv : withoutInput(argv);
  const process = await sandbox.exec([...words], { mode: 'binary', env: { ...env } }).catch(async (cause: unknown) => {
    throw await explain(cause);
  });
  const over = new AbortController();
  let lost: unknown;
  let end: (exit: ProcessExit) => void = () => undefined;
  const exit = new Promise<ProcessExit>((resolve) => (end = resolve));
  const lose = (cause: unknown): void => {
    if (over.signal.aborted) return;
    lost = cause;
    over.abort();
    end({ exitCode: null, signal: undefined });
  };
  const leave = (): void => lose(new Error('The sandbox was ended.'));
  left.addEventListener('abort', leave, { once: true });
  if (left.aborted) leave();
  const streams = [followed(process.stdout, lose), followed(process.stderr, lose)] as const;
  const isRead = Promise.all(streams.map(({ ended }) => ended)).then(() => true);
  const within = (ms: number): Promise<boolean> =>
    Promise.race([
      isRead,
      sleep(clock, ms, over.signal).then(
        () => false,
        () => false,
      ),
    ]);
  process
    // Without a signal it would ask for ever when nobody answers.
    ._wait(over.signal)
    .then(async (exitCode) => {
      // The exit code comes by a way of its own, and what was written may still have to be taken up.
      if (!(await within(SETTLE_MS)) && !(await isAlive?.().catch(() => false))) await within(TAKE_UP_MS);
      end({ exitCode, signal: undefined });
    })
    .catch(lose)
    .finally(() => {
      left.removeEventListener('abort', leave);
      over.abort();
    });
  const [stdout, stderr] = streams;
  return {
    stdin: stdin ? writableOf(process.stdin) : null,
    stdout: stdout.readable,
    stderr: stderr.readable,
    exit,
    failure: async () => (lost === undefined ? undefined : explain(lost)),
  };
}

/** Modal keeps a program's input open until it is closed, which would be one more request for each. */
function withoutInput(argv: RemoteRequest['argv']): RemoteRequest['argv'] {
  const [program, flag, script = '', ...rest] = argv;
  if (program === 'sh' && flag === '-c') return ['sh', '-c', `exec </dev/null\n${script}`, ...rest];
  return ['sh', '-c', 'exec "$@" </dev/null', 'sh', ...argv];
}

/** At the reader's pace. `ended`: nothing more comes, or nobody reads it. */
function followed(
  stream: ReadableStream<Uint8Array>,
  lose: (cause: unknown) => void,
): { readonly readable: Readable; readonly ended: Promise<void> } {
  const reader = stream.getReader();
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const readable = new Readable({
    read() {
      reader.read().then(
        ({ done, value }) => {
          if (done) end();
          if (!this.destroyed) this.push(done ? null : value);
        },
        (cause: unknown) => {
          if (this.destroyed) return;
          lose(cause);
          this.push(null);
        },
      );
    },
    destroy(error, done) {
      end();
      reader.cancel().catch(() => undefined);
      done(error);
    },
  });
  return { readable, ended };
}

/** In order, one request at a time. A process that has ended takes no more, which is its right. */
function writableOf(stream: WritableStream<Uint8Array>): Writable {
  const writer = stream.getWriter();
  const gone = (cause: unknown): Error =>
    Object.assign(new Error('the process takes no more input', { cause }), { code: 'EPIPE' });
  // What goes wrong is told where it is written.
  writer.closed.catch(() => undefined);
  return new Writable({
    highWaterMark: INPUT_BYTES,
    async write(chunk: Buffer, _encoding, done) {
      try {
        for (let at = 0; at < chunk.length; at += INPUT_BYTES) await writer.write(chunk.subarray(at, at + INPUT_BYTES));
        done();
      } catch (cause) {
        done(gone(cause));
      }
    },
    async final(done) {
      const failure = await writer.close().then(
        () => undefined,
        (cause: unknown) => gone(cause),
      );
      done(failure);
    },
  });
}
