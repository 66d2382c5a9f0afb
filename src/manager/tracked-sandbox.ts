/** Commands and files that count as activity while they last: busy is not idle. */
import type { Command, Commands, RunningCommand } from '../core/commands.ts';
import type { SubletError } from '../core/errors.ts';
import { toSubletError } from '../core/errors.ts';
import type { FileOptions, Files } from '../core/files.ts';
import type { SandboxId } from '../core/ids.ts';
import { followSignals } from './deadline.ts';
import type { LiveSandbox } from './live-sandbox.ts';

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
    run: (command: Command, options) =>
      during(tracking, (live) =>
        untilEnd(tracking, options?.signal, (signal) =>
          live.handle.commands.run(command, withEnv(signal === undefined ? options : { ...options, signal })),
        ),
      ),
    start: (command, options) =>
      during(tracking, async (live) =>
        follow(tracking, live, await live.handle.commands.start(command, withEnv(options))),
      ),
    attach: (id) => during(tracking, async (live) => follow(tracking, live, await live.handle.commands.attach(id))),
    list: () => during(tracking, (live) => live.handle.commands.list()),
  });
}

export function trackFiles(tracking: Tracking): Files {
  const use = <T>(work: (files: Files) => Promise<T>): Promise<T> =>
    during(tracking, (live) => work(live.handle.files));
  return Object.freeze<Files>({
    read: (path, options) => use((files) => files.read(path, options)),
    readText: (path, options) => use((files) => files.readText(path, options)),
    readStream: (path: string, options?: FileOptions) =>
      duringStream(tracking, (live) => live.handle.files.readStream(path, options)),
    write: (path, content, options) => use((files) => files.write(path, content, options)),
    writeMany: (entries, options) => use((files) => files.writeMany(entries, options)),
    readMany: (paths, options) => use((files) => files.readMany(paths, options)),
    list: (path, options) => use((files) => files.list(path, options)),
    stat: (path, options) => use((files) => files.stat(path, options)),
    exists: (path, options) => use((files) => files.exists(path, options)),
    mkdir: (path, options) => use((files) => files.mkdir(path, options)),
    move: (from, to, options) => use((files) => files.move(from, to, options)),
    remove: (path, options) => use((files) => files.remove(path, options)),
  });
}

function untilEnd<T>(
  tracking: Tracking,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  const ends = tracking.ends?.();
  return ends === undefined ? work(signal) : followSignals([signal, ends], work);
}

async function during<T>(tracking: Tracking, work: (live: LiveSandbox) => Promise<T>): Promise<T> {
  const live = await tracking.live();
  const end = live.begin(tracking.now);
  try {
    const result = await work(live);
    live.lastHealthyAt = tracking.now();
    return result;
  } catch (cause) {
    throw noted(live, cause);
  } finally {
    end();
  }
}

async function* duringStream(
  tracking: Tracking,
  open: (live: LiveSandbox) => AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const live = await tracking.live();
  const end = live.begin(tracking.now);
  try {
    yield* open(live);
  } catch (cause) {
    throw noted(live, cause);
  } finally {
    end();
  }
}

/** A background command keeps its sandbox busy until it ends, whether or not anyone reads its output. */
function follow(tracking: Tracking, live: LiveSandbox, running: RunningCommand): RunningCommand {
  const end = live.begin(tracking.now);
  running.wait(live.gone).then(end, end);
  tracking.ends?.()?.addEventListener('abort', () => void running.kill('SIGKILL').catch(() => {}), { once: true });
  const use = <T>(work: () => Promise<T>): Promise<T> => during({ ...tracking, live: () => live }, work);
  return Object.freeze<RunningCommand>({
    id: running.id,
    info: () => use(() => running.info()),
    output: (stream, cursor, options) => use(() => running.output(stream, cursor, options)),
    stream: (stream, options) => duringStream({ ...tracking, live: () => live }, () => running.stream(stream, options)),
    writeStdin: (data) => use(() => running.writeStdin(data)),
    closeStdin: () => use(() => running.closeStdin()),
    resize: (size) => use(() => running.resize(size)),
    kill: (signal) => use(() => running.kill(signal)),
    wait: (signal) => use(() => running.wait(signal)),
  });
}

// The next acquire asks the provider; a failing use alone proves nothing.
function noted(live: LiveSandbox, cause: unknown): SubletError {
  const error = toSubletError(cause, 'PROVIDER_UNAVAILABLE');
  if (error.code === 'SANDBOX_LOST' || error.code === 'SANDBOX_NOT_FOUND' || error.code === 'PROVIDER_UNAVAILABLE')
    live.isDoubted = true;
  return error;
}
