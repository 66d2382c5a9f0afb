/** A shell whose directory and variables carry over: one `sh`, fed one command at a time, with a trailer after each. */
import type { Shell, ShellOptions } from '../core/api.ts';
import type { Clock } from '../core/clock.ts';
import type { CommandResult, Commands, RunningCommand } from '../core/commands.ts';
import { DEFAULT_MAX_OUTPUT_BYTES } from '../core/commands.ts';
import { SubletError, throwIfAborted } from '../core/errors.ts';
import { cryptoBytes } from '../core/ids.ts';
import { OutputCapture } from '../provider/posix/output-capture.ts';
import { shellQuote } from '../provider/posix/shell-quote.ts';
import { TrailerScanner } from '../provider/posix/trailer-scanner.ts';

type ShellRunOptions = NonNullable<Parameters<Shell['run']>[1]>;

/**
 * A command that ends the shell (`exit`, a failure under `set -e`, a time-out, an abort) ends it for good: the next
 * command gets a fresh one in the last known directory, with the variables `options` gave and no others.
 * FILE_NOT_FOUND when `options.cwd` cannot be entered.
 */
export async function openShell(commands: Commands, clock: Clock, options: ShellOptions = {}): Promise<Shell> {
  const shell = new StatefulShell(commands, clock, options);
  await shell.start();
  if (options.cwd !== undefined) await shell.assertEntered(options.cwd);
  return Object.freeze<Shell>({
    run: (command, runOptions) => shell.run(command, runOptions ?? {}),
    close: () => shell.close(),
    [Symbol.asyncDispose]: () => shell.close(),
  });
}

/** Where the last command left off in each stream. */
interface RunningShell {
  readonly process: RunningCommand;
  /** A command has come to its end in it. */
  hasAnswered: boolean;
  readonly cursors: { stdout: number; stderr: number };
}

/** What every provider ends a command with whose directory is not there. */
const CANNOT_ENTER = 126;

type Ending = { readonly by: 'trailer'; readonly text: string } | { readonly by: 'end' };

class StatefulShell {
  readonly #commands: Commands;
  readonly #clock: Clock;
  readonly #options: ShellOptions;
  #cwd: string | undefined;
  #shell: RunningShell | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(commands: Commands, clock: Clock, options: ShellOptions) {
    this.#commands = commands;
    this.#clock = clock;
    this.#options = options;
    this.#cwd = options.cwd;
  }

  async start(): Promise<RunningShell> {
    const process = await this.#commands.start(['sh'], { stdin: true, cwd: this.#cwd, env: this.#options.env });
    // Copies of the streams, so that a command which redirects the shell's own does not swallow the trailer.
    await process.writeStdin('exec 8>&1 9>&2\n');
    this.#shell = { process, hasAnswered: false, cursors: { stdout: 0, stderr: 0 } };
    return this.#shell;
  }

  /** A shell that could not enter its directory has ended by now, or ends before it runs anything. */
  async assertEntered(cwd: string): Promise<void> {
    const { exitCode, stderr } = await this.run(':', {});
    if (exitCode === 0) return;
    this.#isClosed = true;
    throw new SubletError('FILE_NOT_FOUND', `The shell cannot enter ${cwd} in the sandbox (${stderr.trim()}).`, {
      details: { path: cwd },
      hint: 'Make the directory first, or name one that is there.',
    });
  }

  run(command: string, options: ShellRunOptions): Promise<CommandResult> {
    const turn = this.#turn.then(() => this.#runNow(command, options));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const shell = this.#shell;
    this.#shell = undefined;
    await shell?.process.kill();
  }

  async #runNow(command: string, options: ShellRunOptions): Promise<CommandResult> {
    if (this.#isClosed) throw new SubletError('CLOSED', 'The shell is closed.', { hint: 'Open another with shell().' });
    throwIfAborted(options.signal);
    const shell = this.#shell ?? (await this.start());
    const startedAt = this.#clock.now();
    const token = Buffer.from(cryptoBytes(16)).toString('hex');
    const stop = new AbortController();
    let timedOut = false;
    const giveUp = (): void => stop.abort();
    const cancelTimer =
      options.timeoutMs === undefined
        ? undefined
        : this.#clock.schedule(options.timeoutMs, () => {
            timedOut = true;
            giveUp();
          });
    options.signal?.addEventListener('abort', giveUp, { once: true });
    stop.signal.addEventListener('abort', () => void this.#abandon(shell).catch(() => {}), { once: true });
    try {
      const stdout = new OutputCapture(options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
      const stderr = new OutputCapture(options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES);
      await shell.process.writeStdin(script(command, token));
      const [ending] = await Promise.all([
        this.#read(shell, 'stdout', token, stdout, options.onStdout),
        this.#read(shell, 'stderr', token, stderr, options.onStderr),
      ]);
      throwIfAborted(options.signal);
      shell.hasAnswered ||= ending.by === 'trailer';
      const exit =
        ending.by === 'trailer' && !stop.signal.aborted ? this.#finish(ending.text) : await this.#ended(shell);
      return {
        ...exit,
        timedOut,
        ...(timedOut ? { exitCode: null } : {}),
        stdout: stdout.text(),
        stderr: stderr.text(),
        durationMs: this.#clock.now() - startedAt,
        truncated: stdout.truncated || stderr.truncated,
        stdoutBytes: stdout.bytes,
        stderrBytes: stderr.bytes,
      };
    } finally {
      cancelTimer?.();
      options.signal?.removeEventListener('abort', giveUp);
    }
  }

  async #read(
    shell: RunningShell,
    name: 'stdout' | 'stderr',
    token: string,
    capture: OutputCapture,
    onChunk: ((chunk: Uint8Array) => void | Promise<void>) | undefined,
  ): Promise<Ending> {
    const scanner = new TrailerScanner(token);
    for (;;) {
      const chunk = await shell.process.output(name, shell.cursors[name], { wait: true });
      shell.cursors[name] = chunk.next;
      capture.skip(chunk.lostBytes);
      const { output, trailer } = scanner.push(chunk.data, chunk.end);
      if (output.length > 0) {
        capture.push(output);
        await onChunk?.(output);
      }
      if (trailer !== undefined) return { by: 'trailer', text: trailer };
      if (chunk.end) return { by: 'end' };
    }
  }

  #finish(trailer: string): { readonly exitCode: number } {
    const space = trailer.indexOf(' ');
    this.#cwd = trailer.slice(space + 1);
    return { exitCode: Number(trailer.slice(0, space)) };
  }

  async #ended(
    shell: RunningShell,
  ): Promise<{ readonly exitCode: number | null; readonly signal?: string | undefined }> {
    if (this.#shell === shell) this.#shell = undefined;
    const { exitCode, signal } = await shell.process.wait();
    // The directory where the last one ended may be gone: the next begins where the first did, instead of failing for good.
    if (exitCode === CANNOT_ENTER && !shell.hasAnswered) this.#cwd = this.#options.cwd;
    return signal === undefined ? { exitCode } : { exitCode, signal };
  }

  async #abandon(shell: RunningShell): Promise<void> {
    if (this.#shell === shell) this.#shell = undefined;
    await shell.process.kill();
  }
}

/**
 * `command` takes from `eval` its power to end the shell on a syntax error; standard input is not the shell's, so that a command
 * that reads cannot eat the next one. The marks are written as escapes: neither `set -v` nor `set -x` can print them.
 */
function script(command: string, token: string): string {
  const half = token.length / 2;
  const mark = `${token.slice(0, half)} ${token.slice(half)}`;
  return [
    `command eval ${shellQuote(command)} </dev/null 8>&- 9>&-`,
    `command printf '\\036%s%s:%d %s\\036%s%s' ${mark} "$?" "$PWD" ${mark} >&8; command printf '\\036%s%s:\\036%s%s' ${mark} ${mark} >&9`,
    '',
  ].join('\n');
}
