/** Commands and files that count as activity while they last: busy is not idle. */
import type { Command, Commands, RunningCommand } from '../core/commands.ts';
import type { ErrorCode, SubletError } from '../core/errors.ts';
import { abortedError, toSubletError } from '../core/errors.ts';
import type { FileOptions, Files, ReadOptions } from '../core/files.ts';
import type { SandboxId } from '../core/ids.ts';
import * as rules from './call-rules.ts';
import { CallersCode } from './callers-code.ts';
import { checkCall, type Rules } from './check-call.ts';
import { abortWith, followSignals } from './deadline.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { letManyFollow } from './shared-signal.ts';

export interface Tracking {
  readonly id: () => SandboxId;
  /** The sandbox to use now: it may be replaced or put to rest under its handle. Throws CLOSED when the handle was given back. */
  readonly live: () => LiveSandbox | Promise<LiveSandbox>;
  readonly now: () => number;
  /** When it fires, what runs under this handle is stopped. */
  readonly ends?: (() => AbortSignal | undefined) | undefined;
  /** Variables of this handle's caller, beyond those of the sandbox. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export function trackCommands(tracking: Tracking): Commands {
  const withEnv = <O extends { readonly env?: Readonly<Record<string, string>> | undefined }>(
    options: O | undefined,
  ): O | undefined =>
    tracking.env === undefined ? options : ({ ...options, env: { ...tracking.env, ...options?.env } } as O);
  return Object.freeze<Commands>({
    run: async (command: Command, asked) => {
      checkCall('commands.run', asked, rules.RUN, ['command', rules.command(command)]);
      const own = new CallersCode(asked?.signal);
      const options = own.watch(asked);
      return during(
        tracking,
        async (live) => {
          const result = await untilEnd(tracking, options?.signal, (signal) =>
            live.handle.commands.run(command, withEnv(signal === undefined ? options : { ...options, signal })),
          );
          // An end that nobody saw may be the sandbox's.
          if (result.exitCode === null && !result.timedOut) live.isDoubted = true;
          return result;
        },
        own,
      );
    },
    start: async (command, options) => {
      checkCall('commands.start', options, rules.START, ['command', rules.command(command)]);
      return during(tracking, async (live) => {
        letManyFollow(options?.signal);
        return follow(tracking, live, await started(tracking, live.handle.commands.start(command, withEnv(options))));
      });
    },
    attach: (id) => during(tracking, async (live) => follow(tracking, live, await live.handle.commands.attach(id))),
    list: () => during(tracking, (live) => live.handle.commands.list()),
  });
}

export function trackFiles(tracking: Tracking): Files {
  const use = <T, O extends FileOptions>(
    options: O | undefined,
    work: (files: Files, options: O | undefined) => Promise<T>,
    own?: CallersCode,
  ): Promise<T> =>
    during(
      tracking,
      (live) =>
        untilEnd(tracking, options?.signal, (signal) =>
          work(live.handle.files, signal === options?.signal ? options : ({ ...options, signal } as O)),
        ),
      own,
    );
  const checkedBy =
    <O extends FileOptions>(known: Rules<O>) =>
    async <T>(
      call: string,
      path: string,
      asked: O | undefined,
      work: (files: Files, options: O | undefined) => Promise<T>,
    ): Promise<T> => {
      checkCall(call, asked, known, ['path', rules.path(path)]);
      return use(asked, work);
    };
  const [at, reading] = [checkedBy<FileOptions>(rules.FILE), checkedBy<ReadOptions>(rules.READ)];
  return Object.freeze<Files>({
    read: (path, asked) => reading('files.read', path, asked, (files, options) => files.read(path, options)),
    readText: (path, asked) =>
      reading('files.readText', path, asked, (files, options) => files.readText(path, options)),
    readStream: (path: string, options?: FileOptions) => {
      checkCall('files.readStream', options, rules.FILE, ['path', rules.path(path)]);
      return duringStream(tracking, options?.signal, (live, signal) =>
        live.handle.files.readStream(path, { ...options, signal }),
      );
    },
    write: async (path, content, asked) => {
      const wrong = rules.content(content);
      checkCall('files.write', asked, rules.WRITE, ['path', rules.path(path)], ['content', wrong]);
      const own = new CallersCode(asked?.signal);
      return use(asked, (files, options) => files.write(path, own.content(content), options), own);
    },
    writeMany: async (entries, asked) => {
      const problems = entries.map((entry, index) => [`files.${index}`, rules.entry(entry)] as const);
      checkCall('files.writeMany', asked, rules.FILE, ...problems);
      const own = new CallersCode(asked?.signal);
      const watched = entries.map((entry) => ({ ...entry, content: own.content(entry.content) }));
      return use(asked, (files, options) => files.writeMany(watched, options), own);
    },
    readMany: async (paths, asked) => {
      const problems = paths.map((path, index) => [`paths.${index}`, rules.path(path)] as const);
      checkCall('files.readMany', asked, rules.READ, ...problems);
      return use(asked, (files, options) => files.readMany(paths, options));
    },
    list: (path, asked) => at('files.list', path, asked, (files, options) => files.list(path, options)),
    stat: (path, asked) => at('files.stat', path, asked, (files, options) => files.stat(path, options)),
    exists: (path, asked) => at('files.exists', path, asked, (files, options) => files.exists(path, options)),
    mkdir: (path, asked) => at('files.mkdir', path, asked, (files, options) => files.mkdir(path, options)),
    move: async (from, to, asked) => {
      checkCall('files.move', asked, rules.FILE, ['from', rules.path(from)], ['to', rules.path(to)]);
      return use(asked, (files, options) => files.move(from, to, options));
    },
    remove: (path, asked) => at('files.remove', path, asked, (files, options) => files.remove(path, options)),
  });
}

/** What was started while its handle came to an end does not run on. */
async function started(tracking: Tracking, starting: Promise<RunningCommand>): Promise<RunningCommand> {
  const running = await starting;
  const ends = tracking.ends?.();
  if (ends?.aborted !== true) return running;
  await running.kill('SIGKILL').catch(() => {});
  throw abortedError(ends);
}

function untilEnd<T>(
  tracking: Tracking,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  const ends = tracking.ends?.();
  letManyFollow(signal);
  return ends === undefined ? work(signal) : followSignals([signal, ends], work);
}

async function during<T>(tracking: Tracking, work: (live: LiveSandbox) => Promise<T>, own?: CallersCode): Promise<T> {
  const live = await tracking.live();
  const end = live.begin(tracking.now);
  try {
    const result = await work(live);
    live.lastHealthyAt = tracking.now();
    return result;
  } catch (cause) {
    if (own?.failure !== undefined) throw own.failure.error;
    throw noted(live, cause);
  } finally {
    end();
  }
}

async function* duringStream(
  tracking: Tracking,
  signal: AbortSignal | undefined,
  open: (live: LiveSandbox, signal: AbortSignal) => AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const live = await tracking.live();
  const end = live.begin(tracking.now);
  const over = new AbortController();
  // One that brings nothing is ended too: it would hold the sandbox busy under a lease that is lost.
  const letGo = abortWith(over, [signal, tracking.ends?.()]);
  try {
    for await (const chunk of open(live, over.signal)) {
      over.signal.throwIfAborted();
      yield chunk;
    }
  } catch (cause) {
    throw noted(live, cause);
  } finally {
    letGo();
    end();
  }
}

/** A background command keeps its sandbox busy until it ends, whether or not anyone reads its output. */
function follow(tracking: Tracking, live: LiveSandbox, running: RunningCommand): RunningCommand {
  const end = live.begin(tracking.now);
  const ends = tracking.ends?.();
  const kill = (): void => void running.kill('SIGKILL').catch(() => {});
  ends?.addEventListener('abort', kill, { once: true });
  const over = (): void => {
    end();
    ends?.removeEventListener('abort', kill);
  };
  running.wait(live.gone).then(over, over);
  const use = <T>(work: () => Promise<T>): Promise<T> => during({ ...tracking, live: () => live }, work);
  return Object.freeze<RunningCommand>({
    id: running.id,
    info: () => use(() => running.info()),
    output: (stream, cursor, options) => use(() => running.output(stream, cursor, options)),
    stream: (stream, options) =>
      duringStream({ ...tracking, live: () => live }, options?.signal, (_, signal) =>
        running.stream(stream, { ...options, signal }),
      ),
    writeStdin: (data) => use(() => running.writeStdin(data)),
    closeStdin: () => use(() => running.closeStdin()),
    resize: (size) => use(() => running.resize(size)),
    kill: (signal) => use(() => running.kill(signal)),
    wait: (signal) => use(() => running.wait(signal)),
  });
}

/** Also what says that it does not run: somebody else stopped it, or the provider was restarted. */
const DOUBTS: readonly ErrorCode[] = ['SANDBOX_LOST', 'SANDBOX_NOT_FOUND', 'STATE_CONFLICT', 'PROVIDER_UNAVAILABLE'];

// The next acquire asks the provider; a failing use alone proves nothing.
function noted(live: LiveSandbox, cause: unknown): SubletError {
  const error = toSubletError(cause, 'PROVIDER_UNAVAILABLE');
  if (DOUBTS.includes(error.code)) live.isDoubted = true;
  return error;
}
