/** A process that the service started: known by a number, followed by as many as like. */
import type { Commands } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import { E2bRefusal } from './e2b-refusal.ts';
import { InputQueue } from './input-queue.ts';

export interface ProcessRequest {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly stdin: boolean;
  readonly pty: PtySize | undefined;
  readonly tag: string | undefined;
}

export interface PtySize {
  readonly cols: number;
  readonly rows: number;
}

export type OutputKind = 'stdout' | 'stderr' | 'pty';

export interface ProcessEnd {
  /** -1 when a signal ended it. */
  readonly exitCode: number;
  readonly exited: boolean;
  readonly status: string;
  readonly error?: string | undefined;
}

export type Follower = (kind: OutputKind, chunk: Uint8Array) => Promise<void> | undefined;
export type Signal = 'SIGTERM' | 'SIGKILL';

export interface ServedProcess {
  readonly pid: number;
  readonly request: ProcessRequest;
  /** Rejects when the sandbox is gone or the program could not be started. */
  readonly ended: Promise<ProcessEnd>;
  /** Output from now on. The process waits for its slowest follower. Returns how to leave. */
  follow(follower: Follower): () => void;
  write(data: Uint8Array): Promise<void>;
  closeInput(): Promise<void>;
  resize(size: PtySize): Promise<void>;
  signal(signal: Signal): Promise<void>;
}

/** Carried by the process and its descendants, so that one can be found among others. */
const MARK = 'E2B_PROCESS_MARK';

// The first of those that carry the mark: what the service started, not what that started.
const SIGNAL_SCRIPT = `
for file in /proc/[0-9]*/environ; do
  if tr '\\0' '\\n' <"$file" 2>/dev/null | grep -q -x "${MARK}=$1"; then pid=\${file#/proc/}; echo "\${pid%/environ}"; fi
done | sort -n | { read -r pid && kill -"$2" "$pid"; }
`;

/** With pipes: `run` holds the process back while a follower is slow. */
export class PipedProcess implements ServedProcess {
  readonly pid: number;
  readonly request: ProcessRequest;
  readonly ended: Promise<ProcessEnd>;
  readonly #commands: Commands;
  readonly #mark = globalThis.crypto.randomUUID();
  readonly #followers = new Set<Follower>();
  readonly #input: InputQueue | undefined;
  readonly #killed = new AbortController();

  constructor(commands: Commands, pid: number, request: ProcessRequest, firstFollower: Follower) {
    this.pid = pid;
    this.request = request;
    this.#commands = commands;
    this.#followers.add(firstFollower);
    this.#input = request.stdin ? new InputQueue() : undefined;
    this.ended = this.#run();
    this.ended.catch(() => undefined);
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  async write(data: Uint8Array): Promise<void> {
    if (this.#input === undefined) throw E2bRefusal.of('failed_precondition', 'The process has no standard input.');
    await this.#input.push(data);
  }

  async closeInput(): Promise<void> {
    this.#input?.end();
  }

  async resize(): Promise<void> {
    throw E2bRefusal.of('failed_precondition', 'The process has no terminal.');
  }

  async signal(signal: Signal): Promise<void> {
    if (signal === 'SIGKILL') return this.#killed.abort();
    await this.#commands.run(['sh', '-c', SIGNAL_SCRIPT, 'sh', this.#mark, signal.slice(3)]);
  }

  async #run(): Promise<ProcessEnd> {
    const { cmd, args, cwd, envs } = this.request;
    try {
      const result = await this.#commands.run([cmd, ...args], {
        cwd,
        env: { ...envs, [MARK]: this.#mark },
        stdin: this.#input,
        maxOutputBytes: 0,
        signal: this.#killed.signal,
        onStdout: (chunk) => this.#tell('stdout', chunk),
        onStderr: (chunk) => this.#tell('stderr', chunk),
      });
      return toEnd(result.exitCode, result.signal);
    } catch (cause) {
      if (this.#killed.signal.aborted && SubletError.is(cause, 'ABORTED')) return toEnd(null, 'SIGKILL');
      throw cause;
    } finally {
      this.#input?.end();
    }
  }

  #tell(kind: OutputKind, chunk: Uint8Array): Promise<void> | undefined {
    const waits = [...this.#followers].flatMap((follower) => follower(kind, chunk) ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }
}

export function toEnd(exitCode: number | null, signal: string | undefined): ProcessEnd {
  if (exitCode !== null) {
    const status = `exit status ${exitCode}`;
    return { exitCode, exited: true, status, ...(exitCode === 0 ? {} : { error: status }) };
  }
  const status = `signal: ${signal === 'SIGKILL' || signal === undefined ? 'killed' : signal.slice(3).toLowerCase()}`;
  return { exitCode: -1, exited: false, status, error: status };
}
