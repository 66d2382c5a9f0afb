/** Running commands in a sandbox: the shapes that providers implement and that agents hold. */
import type { CommandId } from './ids.ts';

/** A string is run by the sandbox's `sh`; an array is run as it is, without a shell. */
export type Command = string | readonly string[];

export const DEFAULT_MAX_OUTPUT_BYTES: number = 1024 * 1024;

export interface CommandOptions {
  /** Absolute, or relative to the sandbox's working directory. Where that cannot be entered the exit is 126, with the shell's words. */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The whole process tree inside is killed after this long, and the result says `timedOut`. */
  readonly timeoutMs?: number | undefined;
  /** Aborting kills the tree; `run` then rejects with ABORTED. */
  readonly signal?: AbortSignal | undefined;
}

export interface RunOptions extends CommandOptions {
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Bytes of each stream kept in the result: the first and the last half. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /** Sees every byte, in order. A returned promise holds the command back until it resolves. */
  readonly onStdout?: ((chunk: Uint8Array) => void | Promise<void>) | undefined;
  readonly onStderr?: ((chunk: Uint8Array) => void | Promise<void>) | undefined;
}

export interface CommandResult {
  /** null when it is not known or the command did not end by itself. Never invented. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
  readonly timedOut: boolean;
  readonly signal?: string | undefined;
  /** True when a stream was longer than was kept. */
  readonly truncated: boolean;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
}

export interface StartOptions extends CommandOptions {
  /** Keep standard input open for `writeStdin`. Otherwise it is empty. */
  readonly stdin?: boolean | undefined;
  /** A terminal instead of two streams; its output is in `stdout`. */
  readonly pty?: PtySize | undefined;
}

export interface PtySize {
  readonly cols: number;
  readonly rows: number;
}

export interface CommandInfo {
  readonly id: CommandId;
  readonly command: string;
  readonly startedAt: number;
  readonly running: boolean;
  /** null while running, or when it is not known. */
  readonly exitCode: number | null;
  readonly pty: boolean;
}

export type OutputStream = 'stdout' | 'stderr';

export interface OutputChunk {
  readonly data: Uint8Array;
  /** The cursor for the next read: bytes since the command began. */
  readonly next: number;
  /** Bytes between the asked cursor and `data` that are no longer kept. */
  readonly lostBytes: number;
  /** No more will come. */
  readonly end: boolean;
}

export interface CommandExit {
  readonly exitCode: number | null;
  readonly signal?: string | undefined;
  readonly timedOut: boolean;
}

/** A background command. It outlives this handle, and for sessions this process too. */
export interface RunningCommand {
  readonly id: CommandId;
  info(): Promise<CommandInfo>;
  /** What was written from byte `cursor` on. Returns at once unless `wait`, which waits for more or the end. */
  output(
    stream: OutputStream,
    cursor: number,
    options?: { readonly wait?: boolean; readonly maxBytes?: number; readonly signal?: AbortSignal },
  ): Promise<OutputChunk>;
  /**
   * All output from `cursor` until the command ends. The command is not held back: a reader that falls behind by more
   * than is kept gets OUTPUT_LOST, whose `details.next` is where to go on.
   */
  stream(
    stream: OutputStream,
    options?: { readonly cursor?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<Uint8Array>;
  /** UNSUPPORTED if the command was not started with `stdin` or `pty`. */
  writeStdin(data: string | Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  /** UNSUPPORTED without `pty`. */
  resize(size: PtySize): Promise<void>;
  /** SIGKILL to the whole tree unless another signal is named. Already over is success. */
  kill(signal?: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGHUP'): Promise<void>;
  wait(signal?: AbortSignal): Promise<CommandExit>;
}

export interface Commands {
  /** Runs to the end. A non-zero exit is a result, not an error. */
  run(command: Command, options?: RunOptions): Promise<CommandResult>;
  /** Starts in the background. */
  start(command: Command, options?: StartOptions): Promise<RunningCommand>;
  /** A background command started by anyone in this sandbox. COMMAND_NOT_FOUND if there is none. */
  attach(id: CommandId): Promise<RunningCommand>;
  /** Background commands, newest first, finished ones included while their output is kept. */
  list(): Promise<readonly CommandInfo[]>;
}
