/** A program in a sandbox, through the SDK's exec: bytes as they are, and streams that go on where a broken connection left them. */
import { Readable, Writable } from 'node:stream';
import type { Sandbox } from 'modal';
import type { SubletError } from '../../core/errors.ts';
import type { RemoteProcess, RemoteRequest } from '../../provider/posix/inside/remote-commands.ts';
import type { ProcessExit } from '../../provider/posix/run-process.ts';

/** Says why the end of something in the sandbox is not known. */
export type Explain = (cause: unknown) => Promise<SubletError>;

/** One request carries at most this much input. */
const INPUT_BYTES = 512 * 1024;

/** `left` aborts when this process ends the sandbox: nothing more comes from it. */
export async function startProcess(
  sandbox: Sandbox,
  { argv, env, stdin }: RemoteRequest,
  left: AbortSignal,
  explain: Explain,
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
  process
    // Without a signal it would ask for ever when nobody answers.
    ._wait(over.signal)
    .then((exitCode) => end({ exitCode, signal: undefined }), lose)
    .finally(() => left.removeEventListener('abort', leave));
  return {
    stdin: stdin ? writableOf(process.stdin) : null,
    stdout: readableOf(process.stdout, lose),
    stderr: readableOf(process.stderr, lose),
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

/** At the reader's pace. */
function readableOf(stream: ReadableStream<Uint8Array>, lose: (cause: unknown) => void): Readable {
  const reader = stream.getReader();
  return new Readable({
    read() {
      reader.read().then(
        ({ done, value }) => this.destroyed || this.push(done ? null : value),
        (cause: unknown) => {
          if (this.destroyed) return;
          lose(cause);
          this.push(null);
        },
      );
    },
    destroy(error, done) {
      reader.cancel().catch(() => undefined);
      done(error);
    },
  });
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
