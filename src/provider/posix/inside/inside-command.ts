/** One background command, seen from any process through its directory in the sandbox. */
import { type Clock, sleep } from '../../../core/clock.ts';
import type {
  CommandExit,
  CommandInfo,
  CommandResult,
  OutputChunk,
  OutputStream,
  PtySize,
  RunningCommand,
} from '../../../core/commands.ts';
import { abortedError, SubletError } from '../../../core/errors.ts';
import type { CommandId } from '../../../core/ids.ts';
import { outputLostError } from '../background-command.ts';
import { closeStdinScript, factsScript, killScript, readScript, writeStdinScript } from './background-scripts.ts';
import {
  type CommandFacts,
  type CommandMeta,
  parseFacts,
  type Segment,
  toExit,
  toInfo,
  toSegment,
} from './command-facts.ts';
import { encodeForPrintf } from './printf-encoding.ts';
import type { InsideTerminal } from './inside-terminal.ts';

/** A command of a paused sandbox, known without running anything in it. */
export interface FrozenCommand {
  readonly facts: CommandFacts;
  read(stream: OutputStream, cursor: number, maxBytes: number, now: number): Segment;
}

export interface InsideCommandOptions {
  readonly meta: CommandMeta;
  readonly clock: Clock;
  /** In the process that started it. */
  readonly terminal: InsideTerminal | undefined;
  run(script: string): Promise<CommandResult>;
  read(script: string): Promise<Buffer>;
  /** Where files can be read while nothing runs. */
  readonly readFrozen?: ((id: CommandId) => Promise<FrozenCommand>) | undefined;
}

type KillSignal = NonNullable<Parameters<RunningCommand['kill']>[0]>;

const READ_BYTES = 1024 * 1024;
const STREAM_BYTES = 256 * 1024;
/** One script carries at most this much input. */
const WRITE_BYTES = 16 * 1024;
const FIRST_LOOK_MS = 10;
const MAX_LOOK_MS = 250;
const INPUT_CLOSED = 3;

export class InsideCommand implements RunningCommand {
  readonly id: CommandId;
  readonly #options: InsideCommandOptions;

  constructor(options: InsideCommandOptions) {
    this.id = options.meta.id;
    this.#options = options;
  }

  async info(): Promise<CommandInfo> {
    return toInfo(await this.#facts(), this.#options.clock.now());
  }

  async output(
    stream: OutputStream,
    cursor: number,
    options: { readonly wait?: boolean; readonly maxBytes?: number; readonly signal?: AbortSignal } = {},
  ): Promise<OutputChunk> {
    const { terminal, meta } = this.#options;
    if (terminal !== undefined) return terminal.output(stream, cursor, options);
    if (meta.pty) throw this.#terminalElsewhere();
    const read = (): Promise<OutputChunk> => this.#read(stream, cursor, options.maxBytes ?? READ_BYTES);
    if (options.wait !== true) return read();
    return this.#until(async () => {
      const chunk = await read();
      return chunk.data.length > 0 || chunk.end ? chunk : undefined;
    }, options.signal);
  }

  async *stream(
    stream: OutputStream,
    options: { readonly cursor?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Uint8Array> {
    for (let cursor = options.cursor ?? 0; ;) {
      const wait = options.signal === undefined ? {} : { signal: options.signal };
      const chunk = await this.output(stream, cursor, { wait: true, maxBytes: STREAM_BYTES, ...wait });
      if (chunk.lostBytes > 0) throw outputLostError(stream, cursor + chunk.lostBytes, chunk.lostBytes);
      if (chunk.data.length > 0) yield chunk.data;
      if (chunk.end) return;
      cursor = chunk.next;
    }
  }

  async writeStdin(data: string | Uint8Array): Promise<void> {
    const { meta, terminal } = this.#options;
    const bytes = Buffer.from(data as string);
    if (meta.pty) return (terminal ?? this.#failTerminal()).write(bytes);
    if (!meta.stdin)
      throw new SubletError('UNSUPPORTED', 'The command was started without standard input.', {
        hint: 'Start it with { stdin: true }.',
      });
    for (let at = 0; at < bytes.length; at += WRITE_BYTES) {
      const part = encodeForPrintf(bytes.subarray(at, at + WRITE_BYTES));
      const { exitCode } = await this.#options.run(writeStdinScript(this.id, part));
      if (exitCode === INPUT_CLOSED)
        throw new SubletError('CLOSED', `Standard input of background command "${this.id}" is closed.`);
    }
  }

  async closeStdin(): Promise<void> {
    const { meta, terminal } = this.#options;
    // Ctrl-D is how a terminal says that its input ends.
    if (meta.pty) return (terminal ?? this.#failTerminal()).write('\x04');
    if (meta.stdin) await this.#options.run(closeStdinScript(this.id));
  }

  async resize(size: PtySize): Promise<void> {
    const { meta, terminal } = this.#options;
    if (!meta.pty)
      throw new SubletError('UNSUPPORTED', 'The command has no terminal.', {
        hint: 'Start it with { pty: { cols, rows } }.',
      });
    await (terminal ?? this.#failTerminal()).resize(size);
  }

  async kill(signal: KillSignal = 'SIGKILL'): Promise<void> {
    this.#options.terminal?.noteKill(signal);
    const { exitCode, stderr } = await this.#options.run(killScript(this.id, this.#options.meta.tag, signal));
    if (exitCode === 0) return;
    throw new SubletError('PROVIDER_UNAVAILABLE', `Background command "${this.id}" does not end: ${stderr.trim()}`, {
      hint: 'Destroy the sandbox, or try again later.',
    });
  }

  wait(signal?: AbortSignal): Promise<CommandExit> {
    const { terminal, clock } = this.#options;
    if (terminal !== undefined) return terminal.wait(signal);
    return this.#until(async () => toExit(await this.#facts(), clock.now()), signal);
  }

  async #facts(): Promise<CommandFacts> {
    return this.#orFrozen(
      async () => parseFacts((await this.#options.read(factsScript(this.id))).toString('utf8').split('\0')),
      ({ facts }) => facts,
    );
  }

  async #read(stream: OutputStream, cursor: number, maxBytes: number): Promise<OutputChunk> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let lostBytes = 0;
    for (let next = cursor; ;) {
      const part = await this.#readSegment(stream, next, maxBytes - bytes);
      // A gap after data would be lost silently: it is left for the next call.
      if (part.lostBytes > 0 && bytes > 0) return { data: Buffer.concat(parts), next, lostBytes, end: false };
      lostBytes += part.lostBytes;
      parts.push(part.data);
      bytes += part.data.length;
      next = part.next;
      if (!part.hasMore || bytes >= maxBytes) {
        return { data: Buffer.concat(parts), next, lostBytes, end: part.end && bytes < maxBytes };
      }
    }
  }

  #readSegment(stream: OutputStream, cursor: number, maxBytes: number): Promise<Segment> {
    return this.#orFrozen(
      async () => {
        const output = await this.#options.read(readScript(this.id, stream, cursor, maxBytes));
        return toSegment(output, cursor, this.#options.clock.now());
      },
      (frozen) => frozen.read(stream, cursor, maxBytes, this.#options.clock.now()),
    );
  }

  /** In a paused sandbox no script runs; a provider that reads its files all the same still knows. */
  async #orFrozen<T>(ask: () => Promise<T>, askFrozen: (frozen: FrozenCommand) => T): Promise<T> {
    return ask().catch(async (error: unknown) => {
      const { readFrozen } = this.#options;
      if (readFrozen === undefined || !SubletError.is(error, 'STATE_CONFLICT')) throw error;
      return askFrozen(await readFrozen(this.id));
    });
  }

  /** Asks again, ever less often. */
  async #until<T>(ask: () => Promise<T | undefined>, signal: AbortSignal | undefined): Promise<T> {
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 1.5, MAX_LOOK_MS)) {
      if (signal?.aborted === true) throw abortedError(signal);
      const answer = await ask();
      if (answer !== undefined) return answer;
      await sleep(this.#options.clock, waitMs, signal).catch(() => undefined);
    }
  }

  #failTerminal(): never {
    throw this.#terminalElsewhere();
  }

  #terminalElsewhere(): SubletError {
    return new SubletError('UNSUPPORTED', 'The terminal has ended or belongs to another process.', {
      hint: 'Only the process that started a terminal can see it and type into it.',
    });
  }
}
