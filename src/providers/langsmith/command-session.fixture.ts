/** One command of a sandbox's daemon. It goes on without its clients, and a client that comes back gets the rest by offset. */
import type { WebSocket } from 'ws';
import type { CommandResult } from '../../core/commands.ts';
import type { SandboxHandle } from '../../provider/provider.ts';
import { shellQuote } from '../../provider/posix/shell-quote.ts';
import { Refusal } from '../../testing/loopback/loopback-server.ts';

export interface ExecuteMessage {
  readonly command: string;
  readonly timeout_seconds?: number;
  readonly shell?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly run_config?: { readonly env_vars?: Readonly<Record<string, string>>; readonly work_dir?: string };
  readonly kill_on_disconnect?: boolean;
  readonly close_stdin?: boolean;
  readonly pty?: boolean;
}

export type SessionMessage = Readonly<Record<string, unknown>> & { readonly type: string };
type Stream = 'stdout' | 'stderr';

/** For messages to one client. Text that is not UTF-8 is replaced: offsets count what the command wrote. */
const MESSAGE_BYTES = 32 * 1024;

export class CommandSession {
  readonly id: string;
  /** Resolves when the command has ended or could not be run. */
  readonly ended: Promise<void>;
  readonly #clients = new Map<WebSocket, (message: SessionMessage) => void>();
  readonly #written: Record<Stream, Buffer[]> = { stdout: [], stderr: [] };
  readonly #offsets: Record<Stream, number> = { stdout: 0, stderr: 0 };
  readonly #kill = new AbortController();
  readonly #input = new InputQueue();
  readonly #killsOnDisconnect: boolean;
  #end: SessionMessage | undefined;

  constructor(id: string, { commands }: SandboxHandle, message: ExecuteMessage) {
    this.id = id;
    this.#killsOnDisconnect = message.kill_on_disconnect === true;
    const words = commandWords(message);
    const env = message.run_config?.env_vars ?? message.env;
    const timeoutMs = (message.timeout_seconds ?? 60) * 1000;
    const limit = timeoutMs > 0 ? { timeoutMs } : {};
    if (message.close_stdin === true) this.#input.end();
    const options = { env, cwd: message.run_config?.work_dir, maxOutputBytes: 0, signal: this.#kill.signal, ...limit };
    const running = commands.run(words, {
      ...options,
      stdin: this.#input,
      onStdout: (chunk) => this.#write('stdout', chunk),
      onStderr: (chunk) => this.#write('stderr', chunk),
    });
    this.ended = running.then(
      (result) => this.#over(result),
      (error: unknown) => this.#over({ exitCode: null, timedOut: false }, error),
    );
  }

  /** All of it, as the answer to one request. */
  result(): unknown {
    const text = (stream: Stream): string => Buffer.concat(this.#written[stream]).toString();
    if (this.#end?.type === 'error') throw new Refusal(500, String(this.#end['error']));
    return { stdout: text('stdout'), stderr: text('stderr'), exit_code: this.#end?.['exit_code'] };
  }

  /** Tells the client everything from the offsets on, and what comes. */
  join(client: WebSocket, send: (message: SessionMessage) => void, offsets: Readonly<Record<Stream, number>>): void {
    send({ type: 'started', command_id: this.id, pid: 4711 });
    for (const stream of ['stdout', 'stderr'] as const) {
      const all = Buffer.concat(this.#written[stream]);
      this.#written[stream] = [all];
      this.#tell(send, stream, all.subarray(offsets[stream]), offsets[stream]);
    }
    if (this.#end === undefined) this.#clients.set(client, send);
    else send(this.#end);
  }

  leave(client: WebSocket): void {
    this.#clients.delete(client);
    if (this.#killsOnDisconnect && this.#clients.size === 0) this.kill();
  }

  take(message: SessionMessage): void {
    if (message.type === 'kill') return this.kill();
    if (message.type === 'close_stdin') return this.#input.end();
    if (message.type !== 'input') return;
    this.#input.push(Buffer.from(String(message['data'])));
  }

  /** The machine is gone under it. */
  drop(): void {
    const clients = [...this.#clients.keys()];
    this.#clients.clear();
    for (const client of clients) client.terminate();
    this.kill();
  }

  kill(): void {
    this.#kill.abort();
  }

  #write(stream: Stream, chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk);
    const offset = this.#offsets[stream];
    this.#written[stream].push(bytes);
    this.#offsets[stream] += bytes.length;
    for (const send of this.#clients.values()) this.#tell(send, stream, bytes, offset);
  }

  #tell(send: (message: SessionMessage) => void, type: Stream, bytes: Buffer, offset: number): void {
    for (let at = 0; at < bytes.length; at += MESSAGE_BYTES) {
      send({ type, data: bytes.subarray(at, at + MESSAGE_BYTES).toString(), offset: offset + at });
    }
  }

  #over({ exitCode, timedOut }: Pick<CommandResult, 'exitCode' | 'timedOut'>, error?: unknown): void {
    const wasKilled = this.#kill.signal.aborted;
    if (timedOut) this.#end = { type: 'error', error_type: 'CommandTimeout', error: 'command timed out' };
    else if (error !== undefined && !wasKilled) {
      this.#end = { type: 'error', error_type: 'CommandError', error: (error as Error).message };
    } else this.#end = { type: 'exit', exit_code: exitCode ?? 137 };
    for (const send of this.#clients.values()) send(this.#end);
  }
}

/** A terminal is one of the sandbox's own, as in a machine. */
function commandWords({ shell = '/bin/bash', command, pty }: ExecuteMessage): readonly string[] {
  if (pty !== true) return [shell, '-c', command];
  return ['script', '-qefc', `exec ${[shell, '-c', command].map(shellQuote).join(' ')}`, '/dev/null'];
}

/** What clients send, for the command to read. */
class InputQueue implements AsyncIterable<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  #hasEnded = false;
  #wake = (): void => undefined;

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) yield chunk;
      else if (this.#hasEnded) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
