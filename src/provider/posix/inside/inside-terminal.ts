/** A command in a terminal of the provider's. Its newest output is kept in this process, which alone can type into it. */
import type { Clock } from '../../../core/clock.ts';
import type {
  Command,
  CommandExit,
  CommandResult,
  OutputChunk,
  OutputStream,
  PtySize,
  RunOptions,
  StartOptions,
} from '../../../core/commands.ts';
import { abortedError } from '../../../core/errors.ts';
import { commandExit } from '../command-record.ts';
import { tagScript } from '../process-tree.ts';
import { commandArgv, shellExports } from '../shell-quote.ts';
import { endScript, enterScript, resizeScript } from './background-scripts.ts';
import type { CommandMeta } from './command-facts.ts';
import { RecentOutput } from './recent-output.ts';
import { assertStarted } from './start-outcome.ts';

export interface TerminalRequest {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly size: PtySize;
}

/** A terminal as the provider gives it. */
export interface TerminalChannel {
  /** The exit status when the terminal has closed; null when it is not known. Never rejects. */
  readonly exit: Promise<number | null>;
  /** Called once, at once. */
  onData(take: (chunk: Uint8Array) => void): void;
  write(data: string | Uint8Array): Promise<void>;
  /** By the provider's own means, where the sandbox has no `stty`. */
  resize(size: PtySize): Promise<void>;
}

export interface TerminalOptions {
  readonly clock: Clock;
  readonly command: Command;
  readonly meta: CommandMeta;
  readonly options: StartOptions;
  run(script: string, options: RunOptions): Promise<CommandResult>;
  environment(env: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>>;
  directory(cwd: string | undefined): string;
  kill(): Promise<void>;
  openTerminal(request: TerminalRequest): Promise<TerminalChannel>;
}

// $1 command's directory, $2 columns, $3 rows, $4 where to start, then the command. Says who it is as a runner does.
const ENTER = `
cd "$1" && read -r boot </proc/sys/kernel/random/boot_id && read -r stat </proc/$$/stat
printf '%s\\n%s\\n' "$boot" "$stat" >runner
stty cols "$2" rows "$3" 2>/dev/null
cd -- "$4" || exit 126
shift 4
exec "$@"
`;

export async function startTerminal(terminal: TerminalOptions): Promise<InsideTerminal> {
  const { meta, options, command } = terminal;
  const size = options.pty ?? { cols: 80, rows: 24 };
  const entered = await terminal.run(`${enterScript({ id: meta.id, meta: JSON.stringify(meta) })}\npwd`, {});
  assertStarted(entered);
  const env = { TERM: 'xterm-256color', ...terminal.environment(options.env) };
  shellExports(env);
  const cwd = terminal.directory(options.cwd);
  const words = [entered.stdout.trim(), String(size.cols), String(size.rows), cwd, ...commandArgv(command)];
  const channel = await terminal.openTerminal({
    argv: ['sh', '-c', `${tagScript(meta.tag)}\n${ENTER}`, 'sh', ...words],
    env,
    size,
  });
  const started = new InsideTerminal(terminal, channel);
  // For an image without stty; a program that is quicker than this call sees the change as any resize.
  await started.resize(size).catch(() => undefined);
  return started;
}

export class InsideTerminal {
  readonly ended: Promise<void>;
  readonly #terminal: TerminalOptions;
  readonly #channel: TerminalChannel;
  readonly #output = new RecentOutput();
  readonly #cancelTimeout: () => void;
  #killed: string | undefined;
  #isTimedOut = false;
  #exit: CommandExit | undefined;

  constructor(terminal: TerminalOptions, channel: TerminalChannel) {
    this.#terminal = terminal;
    this.#channel = channel;
    const { timeoutMs } = terminal.options;
    this.#cancelTimeout =
      timeoutMs === undefined ? () => undefined : terminal.clock.schedule(timeoutMs, () => this.#timeOut());
    channel.onData((chunk) => this.#output.append(chunk));
    this.ended = channel.exit.then((status) => this.#end(status));
    this.ended.catch(() => undefined);
  }

  get hasEnded(): boolean {
    return this.#exit !== undefined;
  }

  write(data: string | Uint8Array): Promise<void> {
    return this.#channel.write(data);
  }

  /** From inside where the sandbox has stty, because an engine may answer before it has done it. */
  async resize(size: PtySize): Promise<void> {
    const { exitCode } = await this.#terminal.run(resizeScript(this.#terminal.meta.id, size.cols, size.rows), {});
    if (exitCode !== 0) await this.#channel.resize(size);
  }

  noteKill(signal: string): void {
    this.#killed = signal;
  }

  async output(
    stream: OutputStream,
    cursor: number,
    options: { readonly wait?: boolean; readonly maxBytes?: number; readonly signal?: AbortSignal },
  ): Promise<OutputChunk> {
    if (stream === 'stderr') return { data: new Uint8Array(), next: cursor, lostBytes: 0, end: true };
    for (;;) {
      const isOver = this.#exit !== undefined;
      const chunk = this.#output.read(cursor, options.maxBytes);
      if (options.wait !== true || chunk.data.length > 0 || isOver) return { ...chunk, end: isOver && chunk.isLast };
      await this.#output.more(options.signal);
    }
  }

  async wait(signal?: AbortSignal): Promise<CommandExit> {
    if (signal?.aborted === true) throw abortedError(signal);
    const gaveUp = new Promise<never>((_, reject) =>
      signal?.addEventListener('abort', () => reject(abortedError(signal)), { once: true }),
    );
    await Promise.race([this.ended, gaveUp]);
    return this.#exit ?? { exitCode: null, timedOut: this.#isTimedOut };
  }

  #timeOut(): void {
    this.#isTimedOut = true;
    void this.#terminal.kill().catch(() => undefined);
  }

  async #end(status: number | null): Promise<void> {
    this.#cancelTimeout();
    this.#exit = commandExit(status, this.#killed, this.#isTimedOut);
    this.#output.end();
    // For others; the sandbox may be gone with it.
    await this.#terminal.run(endScript(this.#terminal.meta.id, status, this.#isTimedOut), {}).catch(() => undefined);
  }
}
