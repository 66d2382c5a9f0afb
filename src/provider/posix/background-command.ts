/** One background command, seen from any process through its directory. */
import { constants, open } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../core/clock.ts';
import type {
  CommandExit,
  CommandInfo,
  OutputChunk,
  OutputStream,
  PtySize,
  RunningCommand,
} from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import type { CommandId } from '../../core/ids.ts';
import { weighChunk } from './chunk-weight.ts';
import { type CommandMeta, fileExists, isAlive, noteKill, readExit, readInfo, readRunner } from './command-record.ts';
import { until } from './directory-watch.ts';
import { type LogPart, LogReader } from './log-reader.ts';
import type { ProcessTag } from './process-tree.ts';
import type { PtySession } from './pty-command.ts';

export type KillTree = (tag: ProcessTag, signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGHUP') => Promise<void>;

export interface BackgroundCommandOptions {
  readonly dir: string;
  readonly meta: CommandMeta;
  readonly clock: Clock;
  readonly kill: KillTree;
  /** The terminal, in the process that started it. */
  readonly pty: PtySession | undefined;
}

const READ_BYTES = 1024 * 1024;
const openFd = promisify(open);

export class BackgroundCommand implements RunningCommand {
  readonly id: CommandId;
  readonly #options: BackgroundCommandOptions;

  constructor(options: BackgroundCommandOptions) {
    this.id = options.meta.id;
    this.#options = options;
  }

  async info(): Promise<CommandInfo> {
    const info = await readInfo(this.#options.dir, this.#options.clock.now());
    if (info === undefined)
      throw new SubletError('COMMAND_NOT_FOUND', `Background command "${this.id}" is no longer kept.`);
    return info;
  }

  async output(
    stream: OutputStream,
    cursor: number,
    options: { readonly wait?: boolean; readonly maxBytes?: number; readonly signal?: AbortSignal } = {},
  ): Promise<OutputChunk> {
    const read = (): Promise<OutputChunk> => this.#read(stream, cursor, options.maxBytes ?? READ_BYTES);
    if (options.wait !== true) return read();
    const readMore = async (): Promise<OutputChunk | undefined> => {
      const chunk = await read();
      return chunk.data.length > 0 || chunk.end ? chunk : undefined;
    };
    return until(this.#options.dir, this.#options.clock, readMore, options.signal);
  }

  async *stream(
    stream: OutputStream,
    options: { readonly cursor?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Uint8Array> {
    const { dir, clock } = this.#options;
    const reader = new LogReader(dir, stream, options.cursor ?? 0);
    try {
      for (;;) {
        const ready = await reader.next();
        const part = isSome(ready) ? ready : await until(dir, clock, () => this.#nextPart(reader), options.signal);
        if (part.lostBytes > 0) throw outputLostError(stream, reader.cursor - part.data.length, part.lostBytes);
        if (part.data.length === 0) break;
        yield weighChunk(part.data);
      }
    } finally {
      reader.close();
    }
    if (await this.#isCutShort(stream)) throw notKeptError(stream, this.id);
  }

  async writeStdin(data: string | Uint8Array): Promise<void> {
    const { dir, meta, pty } = this.#options;
    if (meta.pty) return this.#terminal(pty).write(data);
    if (!meta.stdin)
      throw new SubletError('UNSUPPORTED', 'The command was started without standard input.', {
        hint: 'Start it with { stdin: true }.',
      });
    if ((await this.#exit()) !== undefined || (await fileExists(join(dir, 'stdin.closed')))) throw this.#inputClosed();
    await this.#writeFifo(data);
  }

  async closeStdin(): Promise<void> {
    const { dir, meta, pty } = this.#options;
    // Ctrl-D is how a terminal says that its input ends.
    if (meta.pty) return this.#terminal(pty).write('\x04');
    if (!meta.stdin) return;
    await writeFile(join(dir, 'stdin.closed'), '');
    const runner = await readRunner(dir);
    if (runner === undefined || (await this.#exit()) !== undefined || !(await isAlive(runner))) return;
    process.kill(runner.pid, 'SIGUSR1');
  }

  async resize(size: PtySize): Promise<void> {
    if (!this.#options.meta.pty)
      throw new SubletError('UNSUPPORTED', 'The command has no terminal.', {
        hint: 'Start it with { pty: { cols, rows } }.',
      });
    this.#terminal(this.#options.pty).resize(size);
  }

  async kill(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGHUP' = 'SIGKILL'): Promise<void> {
    if ((await this.#exit()) === undefined) await noteKill(this.#options.dir, signal);
    // Also when it is over: what it left behind carries its tag.
    await this.#options.kill(this.#options.meta.tag, signal);
  }

  wait(signal?: AbortSignal): Promise<CommandExit> {
    return until(this.#options.dir, this.#options.clock, () => this.#exit(), signal);
  }

  #exit(): Promise<CommandExit | undefined> {
    return readExit(this.#options.dir, this.#options.meta, this.#options.clock.now());
  }

  /** undefined when there is none yet; an empty one when none will come. */
  async #nextPart(reader: LogReader): Promise<LogPart | undefined> {
    const part = await reader.next();
    if (isSome(part)) return part;
    // What was written before the end is surely seen by a read after it.
    return (await this.#exit()) === undefined ? undefined : reader.next();
  }

  /** On a full disk it could not be written to its end. */
  #isCutShort(stream: OutputStream): Promise<boolean> {
    return fileExists(join(this.#options.dir, `${stream}.failed`));
  }

  async #read(stream: OutputStream, cursor: number, maxBytes: number): Promise<OutputChunk> {
    // The end is asked for first: what is written before it is then surely seen by the reads.
    const isOver = (await this.#exit()) !== undefined;
    const reader = new LogReader(this.#options.dir, stream, cursor);
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let lostBytes = 0;
    try {
      for (;;) {
        const part = await reader.next(maxBytes - bytes);
        const isGap = part.lostBytes > 0 && bytes > 0;
        if (!isGap) {
          lostBytes += part.lostBytes;
          bytes += part.data.length;
          parts.push(part.data);
          if (part.data.length > 0 && bytes < maxBytes) continue;
        }
        // A gap after data would be lost silently: it is left for the next call, and so is that the rest was not kept.
        const next = cursor + lostBytes + bytes;
        const isLast = isOver && !isGap && part.data.length === 0;
        const isCutShort = isLast && (await this.#isCutShort(stream));
        if (isCutShort && bytes === 0) throw notKeptError(stream, this.id);
        return { data: Buffer.concat(parts), next, lostBytes, end: isLast && !isCutShort };
      }
    } finally {
      reader.close();
    }
  }

  /** Opened for both, so that it neither waits for a reader nor fails without one. */
  async #writeFifo(data: string | Uint8Array): Promise<void> {
    const fd = await openFd(join(this.#options.dir, 'stdin'), constants.O_RDWR | constants.O_NONBLOCK);
    const socket = new Socket({ fd, readable: false, writable: true });
    const over = new AbortController();
    try {
      const written = new Promise<'written'>((resolve, reject) => {
        socket.once('error', reject);
        socket.write(data, () => resolve('written'));
      });
      const first = await Promise.race([written, this.wait(over.signal).catch(() => 'written' as const)]);
      if (first !== 'written') throw this.#inputClosed();
    } finally {
      over.abort();
      socket.destroy();
    }
  }

  #terminal(pty: PtySession | undefined): PtySession {
    if (pty !== undefined) return pty;
    throw new SubletError('UNSUPPORTED', 'The terminal has ended or belongs to another process.', {
      hint: 'Only the process that started a terminal can type into it.',
    });
  }

  #inputClosed(): SubletError {
    return new SubletError('CLOSED', `Standard input of background command "${this.id}" is closed.`);
  }
}

export function outputLostError(stream: OutputStream, next: number, lostBytes: number): SubletError {
  return new SubletError('OUTPUT_LOST', `${lostBytes} bytes of ${stream} were discarded before they were read.`, {
    details: { stream, next, lostBytes },
    hint: `Only the newest output of a background command is kept. Go on from byte ${next}, or use run() with onStdout, which holds the command back.`,
  });
}

function isSome({ data, lostBytes }: LogPart): boolean {
  return data.length > 0 || lostBytes > 0;
}

function notKeptError(stream: OutputStream, id: CommandId): SubletError {
  return new SubletError('FILE_FAILED', `The rest of ${stream} of background command "${id}" could not be kept.`, {
    details: { stream },
    hint: 'The disk that holds the home of Sublet was full. Free some space and run the command again.',
  });
}
