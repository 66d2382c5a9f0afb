/** `process.Process`: starting, following, feeding and ending the processes of one sandbox. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import type { Commands } from '../../core/commands.ts';
import { ConnectStream, type Message, parseFrames, serveStream, serveUnary, timeoutOf } from './connect-protocol.ts';
import { E2bRefusal } from './e2b-refusal.ts';
import { header, readBody } from './http-exchange.ts';
import { boolean, integer, object, optional, stringRecord, strings, text } from './message-fields.ts';
import { type Follower, PipedProcess, type ProcessRequest, type ServedProcess, type Signal } from './served-process.ts';
import { TerminalProcess } from './terminal-process.ts';

export interface ProcessServiceOptions {
  readonly clock: Clock;
  /** Those of the sandbox, with the variables it was made with. */
  readonly commands: Commands;
  readonly envs: Readonly<Record<string, string>>;
}

const MAX_KEEPALIVE_SECONDS = 3600;

export class ProcessService {
  readonly #options: ProcessServiceOptions;
  readonly #processes = new Map<number, ServedProcess>();
  #lastPid = 100;

  constructor(options: ProcessServiceOptions) {
    this.#options = options;
  }

  serve(method: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const unary = (work: (message: Message) => Promise<Message>): Promise<void> => serveUnary(request, response, work);
    switch (method) {
      case 'Start':
        return serveStream(request, response, (message, stream) => this.#start(message, stream, request));
      case 'Connect':
        return serveStream(request, response, (message, stream) => this.#connect(message, stream, request));
      case 'List':
        return unary(async () => ({ processes: [...this.#processes.values()].map(toInfo) }));
      case 'SendInput':
        return unary((message) => this.#sendInput(this.#find(message), object(message, 'input')));
      case 'StreamInput':
        return this.#streamInput(request, response);
      case 'CloseStdin':
        return unary(async (message) => this.#find(message).closeInput().then(nothing));
      case 'SendSignal':
        return unary(async (message) => this.#find(message).signal(toSignal(message['signal'])).then(nothing));
      case 'Update':
        return unary((message) => this.#update(message));
      default:
        return unary(() => Promise.reject(E2bRefusal.of('unimplemented', `There is no method ${method}.`)));
    }
  }

  /** Ends everything: the sandbox goes, or loses its memory. */
  async killAll(): Promise<void> {
    const all = [...this.#processes.values()];
    await Promise.allSettled(all.map((process) => process.signal('SIGKILL')));
    await Promise.allSettled(all.map((process) => process.ended));
    this.#processes.clear();
  }

  async #start(message: Message, stream: ConnectStream, http: IncomingMessage): Promise<void> {
    const request = this.#toRequest(message);
    const pid = ++this.#lastPid;
    const { commands } = this.#options;
    const tell = startTeller(stream, pid);
    const follower: Follower = (kind, chunk) => {
      tell();
      return toFollower(stream)(kind, chunk);
    };
    if (request.pty === undefined) tell();
    const process =
      request.pty === undefined
        ? new PipedProcess(commands, pid, request, follower)
        : await TerminalProcess.start(commands, pid, request, follower);
    this.#processes.set(pid, process);
    tell();
    const forget = (): boolean => this.#processes.delete(pid);
    process.ended.then(forget, forget);
    // It is killed when its time is over, and goes on when only its follower leaves.
    const timeoutMs = timeoutOf(http);
    let isLate = false;
    const cancel =
      timeoutMs === undefined
        ? () => undefined
        : this.#options.clock.schedule(timeoutMs, () => {
            isLate = true;
            void process.signal('SIGKILL').catch(() => undefined);
          });
    void process.ended.catch(() => undefined).then(cancel);
    await this.#tellEnd(process, stream, http);
    if (isLate) throw E2bRefusal.of('deadline_exceeded', 'The command took longer than its time-out.');
  }

  async #connect(message: Message, stream: ConnectStream, http: IncomingMessage): Promise<void> {
    const process = this.#find(message);
    await stream.send({ event: { start: { pid: process.pid } } });
    const leave = process.follow(toFollower(stream));
    await this.#tellEnd(process, stream, http).finally(leave);
  }

  async #tellEnd(process: ServedProcess, stream: ConnectStream, http: IncomingMessage): Promise<void> {
    const stop = this.#keepAlive(stream, http);
    try {
      const end = await Promise.race([process.ended, stream.closed]);
      if (end !== undefined) await stream.send({ event: { end } });
    } finally {
      stop();
    }
  }

  /** So that nothing between the two takes a quiet process for a dead connection. */
  #keepAlive(stream: ConnectStream, http: IncomingMessage): () => void {
    const seconds = Number(header(http, 'keepalive-ping-interval') ?? 0);
    if (!(seconds > 0 && seconds <= MAX_KEEPALIVE_SECONDS)) return () => undefined;
    let cancel = (): void => undefined;
    const beat = (): void => {
      cancel = this.#options.clock.schedule(seconds * 1000, () => {
        void stream.send({ event: { keepalive: {} } });
        beat();
      });
    };
    beat();
    return () => cancel();
  }

  async #sendInput(process: ServedProcess, input: Message): Promise<Message> {
    const data = optional(input, 'stdin', text) ?? optional(input, 'pty', text) ?? '';
    await process.write(Buffer.from(data, 'base64'));
    return {};
  }

  async #streamInput(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const messages = parseFrames(await readBody(request));
    const stream = new ConnectStream(response);
    try {
      const start = messages.find((message) => 'start' in message);
      const process = this.#find(object(start ?? {}, 'start'));
      for (const message of messages) {
        if ('data' in message) await this.#sendInput(process, object(object(message, 'data'), 'input'));
      }
      await stream.send({});
      stream.end();
    } catch (cause) {
      stream.end(cause);
    }
  }

  async #update(message: Message): Promise<Message> {
    const process = this.#find(message);
    const size = object(object(message, 'pty'), 'size');
    await process.resize({ cols: integer(size, 'cols'), rows: integer(size, 'rows') });
    return {};
  }

  #find(message: Message): ServedProcess {
    const selector = object(message, 'process');
    const tag = optional(selector, 'tag', text);
    const found =
      tag === undefined
        ? this.#processes.get(integer(selector, 'pid'))
        : [...this.#processes.values()].find(({ request }) => request.tag === tag);
    if (found !== undefined) return found;
    throw E2bRefusal.of(
      'not_found',
      `process with ${tag === undefined ? 'pid' : 'tag'} ${JSON.stringify(tag ?? selector['pid'])} not found`,
    );
  }

  #toRequest(message: Message): ProcessRequest {
    const process = object(message, 'process');
    const pty = optional(message, 'pty', object);
    const size = pty === undefined ? undefined : object(pty, 'size');
    return {
      cmd: text(process, 'cmd'),
      args: optional(process, 'args', strings) ?? [],
      envs: { ...this.#options.envs, ...optional(process, 'envs', stringRecord) },
      cwd: optional(process, 'cwd', text) || undefined,
      stdin: optional(message, 'stdin', boolean) ?? false,
      pty: size === undefined ? undefined : { cols: integer(size, 'cols'), rows: integer(size, 'rows') },
      tag: optional(message, 'tag', text),
    };
  }
}

function toFollower(stream: ConnectStream): Follower {
  return (kind, chunk) => stream.send({ event: { data: { [kind]: Buffer.from(chunk).toString('base64') } } });
}

/** The number of a process goes out before its output, once: a terminal may speak before it is known to have started. */
function startTeller(stream: ConnectStream, pid: number): () => void {
  let isTold = false;
  return () => {
    if (!isTold) void stream.send({ event: { start: { pid } } });
    isTold = true;
  };
}

function toInfo({ pid, request }: ServedProcess): Message {
  const { cmd, args, envs, cwd, tag } = request;
  return {
    pid,
    config: { cmd, args, envs, ...(cwd === undefined ? {} : { cwd }) },
    ...(tag === undefined ? {} : { tag }),
  };
}

function toSignal(value: unknown): Signal {
  if (value === 'SIGNAL_SIGKILL' || value === 9) return 'SIGKILL';
  if (value === 'SIGNAL_SIGTERM' || value === 15) return 'SIGTERM';
  throw E2bRefusal.of('invalid_argument', 'Only SIGTERM and SIGKILL can be sent.');
}

function nothing(): Message {
  return {};
}
