/** A command in a terminal of the engine's. Its newest output is kept in this process, which alone can type into it. */
import type { Socket } from 'node:net';
import type {
  Command,
  CommandExit,
  CommandResult,
  OutputChunk,
  OutputStream,
  PtySize,
  RunOptions,
  StartOptions,
} from '../../core/commands.ts';
import type { Clock } from '../../core/clock.ts';
import { abortedError } from '../../core/errors.ts';
import { commandExit } from '../../provider/posix/command-record.ts';
import { tagScript } from '../../provider/posix/process-tree.ts';
import { commandArgv, shellExports } from '../../provider/posix/shell-quote.ts';
import { endScript, enterScript, resizeScript } from './background-scripts.ts';
import type { CommandMeta } from './command-facts.ts';
import type { DockerApi } from './docker-api.ts';
import { RecentOutput } from './recent-output.ts';
import { assertStarted } from './start-outcome.ts';

export interface TerminalOptions {
  readonly api: DockerApi;
  readonly clock: Clock;
  readonly containerId: string;
  readonly command: Command;
  readonly meta: CommandMeta;
  readonly options: StartOptions;
  run(script: string, options: RunOptions): Promise<CommandResult>;
  environment(env: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>>;
  directory(cwd: string | undefined): string;
  kill(): Promise<void>;
}

/** The engine closes the terminal a moment before it knows the exit code. */
const EXIT_LOOKS = 50;

// $1 command's directory, $2 columns, $3 rows, $4 where to start, then the command. Says who it is as a runner does.
const ENTER = `
cd "$1" && read -r boot </proc/sys/kernel/random/boot_id && read -r stat </proc/$$/stat
printf '%s\\n%s\\n' "$boot" "$stat" >runner
stty cols "$2" rows "$3" 2>/dev/null
cd -- "$4" || exit 126
shift 4
exec "$@"
`;

export async function startTerminal(terminal: TerminalOptions): Promise<Terminal> {
  const { api, containerId, meta, options, command } = terminal;
  const size = options.pty ?? { cols: 80, rows: 24 };
  const entered = await terminal.run(`${enterScript({ id: meta.id, meta: JSON.stringify(meta) })}\npwd`, {});
  assertStarted(entered);
  const env = { TERM: 'xterm-256color', ...terminal.environment(options.env) };
  shellExports(env);
  const cwd = terminal.directory(options.cwd);
  const words = [entered.stdout.trim(), String(size.cols), String(size.rows), cwd, ...commandArgv(command)];
  const execId = await api.createExec(containerId, {
    Cmd: ['sh', '-c', `${tagScript(meta.tag)}\n${ENTER}`, 'sh', ...words],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: true,
  });
  const socket = await api.startExec(execId, size);
  const started = new Terminal(terminal, execId, socket);
  // For an image without stty; a program that is quicker than this call sees the change as any resize.
  await started.resize(size).catch(() => undefined);
  return started;
}

export class Terminal {
  readonly ended: Promise<void>;
  readonly #terminal: TerminalOptions;
  readonly #execId: string;
  readonly #socket: Socket;
  readonly #output = new RecentOutput();
  readonly #cancelTimeout: () => void;
  #killed: string | undefined;
  #isTimedOut = false;
  #exit: CommandExit | undefined;

  constructor(terminal: TerminalOptions, execId: string, socket: Socket) {
    this.#terminal = terminal;
    this.#execId = execId;
    this.#socket = socket;
    const { timeoutMs } = terminal.options;
    this.#cancelTimeout =
      timeoutMs === undefined ? () => undefined : terminal.clock.schedule(timeoutMs, () => this.#timeOut());
    socket.on('data', (chunk: Buffer) => this.#output.append(chunk));
    socket.on('error', () => undefined);
    this.ended = new Promise<void>((resolve) => socket.once('close', resolve)).then(() => this.#end());
    this.ended.catch(() => undefined);
  }

  get hasEnded(): boolean {
    return this.#exit !== undefined;
  }

  write(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#socket.write(data, (error) => (error === undefined || error === null ? resolve() : reject(error))),
    );
  }

  /** From inside where the image has stty, because Podman answers before it has done it. */
  async resize({ cols, rows }: PtySize): Promise<void> {
    const { exitCode } = await this.#terminal.run(resizeScript(this.#terminal.meta.id, cols, rows), {});
    if (exitCode !== 0) await this.#terminal.api.resizeExec(this.#execId, cols, rows);
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

  async #end(): Promise<void> {
    this.#cancelTimeout();
    const status = await this.#status();
    this.#exit = commandExit(status, this.#killed, this.#isTimedOut);
    this.#output.end();
    // For others; the container may be gone with it.
    await this.#terminal.run(endScript(this.#terminal.meta.id, status, this.#isTimedOut), {}).catch(() => undefined);
  }

  async #status(): Promise<number | null> {
    const { api, clock } = this.#terminal;
    for (let look = 0; look < EXIT_LOOKS; look++) {
      const details = await api.inspectExec(this.#execId).catch(() => undefined);
      if (details === undefined) return null;
      if (!details.Running) return details.ExitCode;
      await new Promise<void>((resolve) => clock.schedule(10, resolve));
    }
    return null;
  }
}
