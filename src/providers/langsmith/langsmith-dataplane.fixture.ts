/** What a sandbox of LangSmith answers itself: commands over a WebSocket or one request each, and files. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { BackingSandbox } from '../../testing/loopback/backing-sandboxes.ts';
import type { Fault } from '../../testing/loopback/fault-switchboard.ts';
import { CommandSession, type ExecuteMessage, type SessionMessage } from './command-session.fixture.ts';
import { Refusal } from '../../testing/loopback/loopback-server.ts';

/** A connection that breaks once this much output has come over it, or before it says anything. The command goes on. */
export interface Cut {
  readonly afterBytes: number;
  /** Of the close frame: 1001 is a daemon that reloads. Absent: the line is dead. */
  readonly code?: number | undefined;
}

type HttpExecute = Omit<ExecuteMessage, 'command'> & { readonly command?: unknown; readonly timeout?: number };

export class LangsmithDataplane {
  /** For the next connections, one each. */
  readonly cuts: Cut[] = [];
  /** How many connections were opened. */
  opened = 0;
  /** How many commands were begun. */
  begun = 0;
  /** How many connections asked to go on where another one broke. */
  reconnects = 0;
  /** Whether a command runs that was not begun by the one that asks. */
  executing = 0;
  readonly #sessions = new Map<string, CommandSession>();
  readonly #sockets = new WebSocketServer({ noServer: true });

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    await new Promise((resolve) => this.#sockets.close(resolve));
  }

  /** What ran there is gone, and nobody can come back to it. */
  forget(sandboxId: string): void {
    for (const key of this.#sessions.keys()) {
      if (!key.startsWith(`${sandboxId} `)) continue;
      this.#sessions.get(key)?.drop();
      this.#sessions.delete(key);
    }
  }

  async serve(box: BackingSandbox, route: string, query: URLSearchParams, body: unknown): Promise<unknown> {
    if (route === 'POST execute') return this.#execute(box, body as HttpExecute);
    const path = query.get('path') ?? '';
    if (!path.startsWith('/')) throw new Refusal(400, 'path must be absolute');
    if (route === 'POST upload') {
      const file = body instanceof FormData ? body.get('file') : undefined;
      if (!(file instanceof Blob)) throw new Refusal(422, 'file is required');
      await box.handle.files.write(path, new Uint8Array(await file.arrayBuffer()));
      return { path };
    }
    throw new Refusal(404, `No such endpoint: ${route}`);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, box: BackingSandbox, fault: Fault | undefined): void {
    this.opened++;
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      const cut = fault?.kind === 'dropped' ? { afterBytes: fault.afterBytes } : this.cuts.shift();
      client.once('message', (data) => {
        const message = parse(data);
        const session = this.#session(box, message);
        if (session === undefined) {
          const id = String(message['command_id']);
          client.send(JSON.stringify({ type: 'error', error_type: 'CommandNotFound', error: `no command ${id}` }));
          return client.close(1000);
        }
        // A fault is worse than a cut: the daemon has lost the command too.
        const lose = fault?.kind === 'dropped' ? () => this.#sessions.delete(`${box.id} ${session.id}`) : undefined;
        follow(client, session, message, cut, lose);
      });
    });
  }

  /** The one of that id, or a new one: a command is begun once, however often it is asked for. */
  #session(box: BackingSandbox, message: SessionMessage): CommandSession | undefined {
    const id = typeof message['command_id'] === 'string' ? message['command_id'] : randomUUID();
    const present = this.#sessions.get(`${box.id} ${id}`);
    if (message.type === 'reconnect') this.reconnects++;
    if (present !== undefined || message.type !== 'execute') return present;
    const session = new CommandSession(id, box.handle, message as unknown as ExecuteMessage);
    this.#sessions.set(`${box.id} ${id}`, session);
    this.#count(session);
    // Long enough to come back to.
    void session.ended.then(() => setTimeout(() => this.#sessions.delete(`${box.id} ${id}`), 20_000).unref());
    return session;
  }

  async #execute(box: BackingSandbox, { command, timeout, ...rest }: HttpExecute): Promise<unknown> {
    if (typeof command !== 'string') throw new Refusal(422, 'command is required');
    if (timeout === 0) throw new Refusal(422, 'timeout must be positive');
    const message = { ...rest, command, timeout_seconds: timeout ?? 60, close_stdin: true };
    const session = new CommandSession(randomUUID(), box.handle, message);
    this.#count(session);
    await session.ended;
    return session.result();
  }

  #count(session: CommandSession): void {
    this.begun++;
    this.executing++;
    void session.ended.then(() => this.executing--);
  }
}

function follow(
  client: WebSocket,
  session: CommandSession,
  first: SessionMessage,
  cut: Cut | undefined,
  lose: (() => void) | undefined,
): void {
  let left = cut?.afterBytes ?? Infinity;
  let isCut = false;
  const send = (message: SessionMessage): void => {
    if (isCut) return;
    if (message.type === 'stdout' || message.type === 'stderr') left -= String(message['data']).length;
    // What is cut does not live to tell its end.
    isCut = left <= 0 || (message.type === 'exit' && cut !== undefined);
    if (!isCut) return client.send(JSON.stringify(message), () => undefined);
    lose?.();
    session.leave(client);
    if (cut?.code === undefined) setImmediate(() => client.terminate());
    else client.close(cut.code);
  };
  client.on('message', (data) => session.take(parse(data)));
  client.on('close', () => session.leave(client));
  client.on('error', () => undefined);
  const from = (name: string): number => (typeof first[name] === 'number' ? first[name] : 0);
  session.join(client, send, { stdout: from('stdout_offset'), stderr: from('stderr_offset') });
}

function parse(data: RawData): SessionMessage {
  return JSON.parse((data as Buffer).toString()) as SessionMessage;
}
