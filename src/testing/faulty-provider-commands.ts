/** Commands of the faulty provider: a shell of a dozen words, in memory. */
import type { Clock } from '../core/clock.ts';
import { sleep } from '../core/clock.ts';
import type {
  Command,
  CommandExit,
  CommandInfo,
  CommandResult,
  Commands,
  OutputChunk,
  OutputStream,
  RunOptions,
  RunningCommand,
  StartOptions,
} from '../core/commands.ts';
import { DEFAULT_MAX_OUTPUT_BYTES } from '../core/commands.ts';
import { SubletError, abortedError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import type { CommandId, RandomBytes } from '../core/ids.ts';
import { newId } from '../core/ids.ts';
import type { NetworkLevel } from '../core/network.ts';

export interface FaultyBoxFacts {
  readonly clock: Clock;
  /** Throws when the sandbox is gone, waits while it is paused. */
  readonly guard: () => Promise<void>;
  readonly network: () => NetworkLevel;
  readonly files: () => Files;
  readonly random: RandomBytes;
}

interface Process {
  readonly info: { -readonly [K in keyof CommandInfo]: CommandInfo[K] };
  readonly stop: AbortController;
  readonly output: Record<OutputStream, Buffer>;
  readonly exit: Promise<CommandExit>;
  isOver: boolean;
  changed: () => void;
}

interface Invocation {
  readonly words: readonly string[];
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly emit: (stream: OutputStream, data: Uint8Array) => void | Promise<void>;
}

const CHUNK = 64 * 1024;

export class FaultyCommands implements Commands {
  readonly #facts: FaultyBoxFacts;
  readonly #processes = new Map<CommandId, Process>();

  constructor(facts: FaultyBoxFacts) {
    this.#facts = facts;
  }

  async run(command: Command, options: RunOptions = {}): Promise<CommandResult> {
    const { clock } = this.#facts;
    const startedAt = clock.now();
    const streams = { stdout: new Capture(options), stderr: new Capture(options) };
    const handlers = { stdout: options.onStdout, stderr: options.onStderr };
    const emit = async (stream: OutputStream, data: Uint8Array): Promise<void> => {
      streams[stream].push(data);
      await handlers[stream]?.(data);
    };
    const stop = new AbortController();
    const stdin = await readAll(options.stdin);
    const exit = await this.#execute(command, { stdin, env: options.env ?? {}, emit, stop }, options);
    if (options.signal?.aborted === true) throw abortedError(options.signal);
    return {
      ...exit,
      stdout: streams.stdout.text(),
      stderr: streams.stderr.text(),
      durationMs: clock.now() - startedAt,
      truncated: streams.stdout.truncated || streams.stderr.truncated,
      stdoutBytes: streams.stdout.bytes,
      stderrBytes: streams.stderr.bytes,
    };
  }

  async start(command: Command, options: StartOptions = {}): Promise<RunningCommand> {
    await this.#facts.guard();
    const stop = new AbortController();
    const output = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
    const info = {
      id: newId('cmd', this.#facts.random),
      command: typeof command === 'string' ? command : command.join(' '),
      startedAt: this.#facts.clock.now(),
      running: true,
      exitCode: null as number | null,
      pty: options.pty !== undefined,
    };
    const emit = (stream: OutputStream, data: Uint8Array): void => {
      output[stream] = Buffer.concat([output[stream], data]);
      process.changed();
    };
    const exit = this.#execute(command, { stdin: '', env: options.env ?? {}, emit, stop }, options).then((ended) => {
      info.running = false;
      info.exitCode = ended.exitCode;
      process.isOver = true;
      process.changed();
      return ended;
    });
    const process: Process = { info, stop, output, exit, isOver: false, changed: () => {} };
    this.#processes.set(info.id, process);
    return toRunningCommand(process);
  }

  async attach(id: CommandId): Promise<RunningCommand> {
    await this.#facts.guard();
    const process = this.#processes.get(id);
    if (process === undefined) throw new SubletError('COMMAND_NOT_FOUND', `No command ${id}.`);
    return toRunningCommand(process);
  }

  async list(): Promise<readonly CommandInfo[]> {
    await this.#facts.guard();
    return [...this.#processes.values()].toReversed().map(({ info }) => ({ ...info }));
  }

  killAll(): void {
    for (const { stop } of this.#processes.values()) stop.abort();
  }

  async #execute(
    command: Command,
    given: Pick<Invocation, 'stdin' | 'env' | 'emit'> & { readonly stop: AbortController },
    options: { readonly timeoutMs?: number | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<CommandExit> {
    const { stop } = given;
    let timedOut = false;
    const kill = (): void => stop.abort();
    options.signal?.addEventListener('abort', kill, { once: true });
    const cancel =
      options.timeoutMs === undefined
        ? undefined
        : this.#facts.clock.schedule(options.timeoutMs, () => {
            timedOut = true;
            stop.abort();
          });
    try {
      if (options.signal?.aborted === true) throw abortedError(options.signal);
      const words = typeof command === 'string' ? command.trim().split(/\s+/) : command;
      const exitCode = await orKilled(stop.signal, this.#interpret({ ...given, words, signal: stop.signal }));
      return exitCode === null ? { exitCode, timedOut, signal: 'SIGKILL' } : { exitCode, timedOut };
    } finally {
      cancel?.();
      options.signal?.removeEventListener('abort', kill);
    }
  }

  async #interpret(call: Invocation): Promise<number> {
    await this.#facts.guard();
    const [name = 'true', ...words] = call.words;
    const print = (text: string): void | Promise<void> => call.emit('stdout', new TextEncoder().encode(text));
    switch (name) {
      case 'true':
        return 0;
      case 'false':
        return 1;
      case 'exit':
        return Number(words[0] ?? 0);
      case 'echo':
        await print(`${words.join(' ')}\n`);
        return 0;
      case 'printenv': {
        const value = call.env[words[0] ?? ''];
        if (value !== undefined) await print(`${value}\n`);
        return value === undefined ? 1 : 0;
      }
      case 'cat':
        await print(words[0] === undefined ? call.stdin : await this.#facts.files().readText(words[0]));
        return 0;
      case 'sleep':
        await sleep(this.#facts.clock, Number(words[0]) * 1000, call.signal);
        return 0;
      case 'output':
        for (let left = Number(words[0]); left > 0 && !call.signal.aborted; left -= CHUNK) {
          await call.emit('stdout', new Uint8Array(Math.min(left, CHUNK)).fill(120));
        }
        return 0;
      case 'connect':
        return this.#facts.network() === 'open' ? 0 : 1;
      default:
        await call.emit('stderr', new TextEncoder().encode(`sh: ${name}: not found\n`));
        return 127;
    }
  }
}

function toRunningCommand(process: Process): RunningCommand {
  const output: RunningCommand['output'] = async (stream, cursor, options) => {
    while (options?.wait === true && !process.isOver && process.output[stream].length <= cursor) {
      await new Promise<void>((resolve) => {
        const before = process.changed;
        process.changed = (): void => {
          before();
          resolve();
        };
      });
    }
    const data = process.output[stream].subarray(cursor);
    return { data, next: cursor + data.length, lostBytes: 0, end: process.isOver } satisfies OutputChunk;
  };
  const noStdin = (): Promise<never> =>
    Promise.reject(
      new SubletError('UNSUPPORTED', 'The faulty provider has no standard input for background commands.'),
    );
  return {
    id: process.info.id,
    info: async () => ({ ...process.info }),
    output,
    async *stream(stream, options) {
      for (let cursor = options?.cursor ?? 0; ;) {
        const chunk = await output(stream, cursor, { wait: true });
        cursor = chunk.next;
        if (chunk.data.length > 0) yield chunk.data;
        if (chunk.end) return;
      }
    },
    writeStdin: noStdin,
    closeStdin: noStdin,
    resize: noStdin,
    kill: async () => {
      process.stop.abort();
      await process.exit;
    },
    wait: (signal) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(abortedError(signal)), { once: true });
        process.exit.then(resolve, reject);
      }),
  };
}

function orKilled(signal: AbortSignal, work: Promise<number>): Promise<number | null> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
    work.then(resolve, reject);
  });
}

/** Everything is kept, being in memory anyway; what is shown is cut as the contract says. */
class Capture {
  #bytes: Buffer = Buffer.alloc(0);
  readonly #max: number;

  constructor(options: RunOptions) {
    this.#max = options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  get truncated(): boolean {
    return this.bytes > this.#max;
  }

  push(data: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, data]);
  }

  text(): string {
    if (!this.truncated) return this.#bytes.toString('utf8');
    const half = Math.floor(this.#max / 2);
    return this.#bytes.toString('utf8', 0, half) + this.#bytes.toString('utf8', this.bytes - half);
  }
}

async function readAll(stdin: RunOptions['stdin']): Promise<string> {
  if (stdin === undefined || typeof stdin === 'string') return stdin ?? '';
  if (stdin instanceof Uint8Array) return new TextDecoder().decode(stdin);
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
