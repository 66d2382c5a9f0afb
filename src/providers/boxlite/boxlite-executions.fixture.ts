/** Commands in boxes: started by a request, attached to by a socket, whose loss they survive or not. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { CommandResult } from '../../core/commands.ts';
import type { BackingSandbox } from '../../testing/loopback/backing-sandboxes.ts';
import { type LoopbackServer, Refusal } from '../../testing/loopback/loopback-server.ts';

export interface ExecRequest {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly working_dir?: string;
}

interface Execution {
  readonly running: Promise<CommandResult | undefined>;
  result?: CommandResult | undefined;
  /** Frames that nobody has been sent. */
  readonly waiting: Buffer[];
  socket?: WebSocket | undefined;
  isOver: boolean;
  isReaped: boolean;
}

const CHANNEL = { stdout: 1, stderr: 2 } as const;
const PING_MS = 15_000;
const PATH = /^\/v1\/boxes\/[^/]+\/executions\/([^/]+)\/attach$/;

export class Executions {
  /** How many commands run now. */
  count = 0;
  readonly #server: LoopbackServer;
  readonly #authorization: string;
  readonly #executions = new Map<string, Execution>();
  readonly #sockets = new WebSocketServer({ noServer: true });

  constructor(server: LoopbackServer, authorization: string) {
    this.#server = server;
    this.#authorization = authorization;
    server.http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  close(): void {
    for (const client of this.#sockets.clients) client.terminate();
    this.#sockets.close();
  }

  start(box: BackingSandbox, { command, args = [], env, working_dir: cwd }: ExecRequest): unknown {
    if (command === undefined) throw new Refusal(400, 'invalid argument: command is required');
    const id = `exec-${randomBytes(8).toString('hex')}`;
    const waiting: Buffer[] = [];
    const send = (channel: number, chunk: Uint8Array): void => {
      const frame = Buffer.concat([Buffer.of(channel), chunk]);
      if (execution.socket === undefined) waiting.push(frame);
      else execution.socket.send(frame);
    };
    const running = box.handle.commands
      .run([command, ...args], {
        cwd,
        env,
        maxOutputBytes: 0,
        onStdout: (chunk) => send(CHANNEL.stdout, chunk),
        onStderr: (chunk) => send(CHANNEL.stderr, chunk),
      })
      .catch(() => undefined);
    const execution: Execution = { running, waiting, isOver: false, isReaped: false };
    this.#executions.set(id, execution);
    this.count++;
    void running.then((result) => {
      this.count--;
      execution.result = result;
      execution.isOver = true;
      this.#finish(execution);
    });
    return { execution_id: id };
  }

  info(id: string): unknown {
    const execution = this.#executions.get(id);
    if (execution === undefined) throw new Refusal(404, `not found: execution ${id}`);
    if (execution.isReaped) throw new Refusal(410, `session reaped: execution ${id}`);
    const { isOver, result } = execution;
    return { execution_id: id, status: isOver ? 'completed' : 'running', exit_code: isOver ? codeOf(result) : null };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const path = request.url ?? '';
    const met = this.#server.faults.take({ method: 'GET', path });
    const execution = this.#executions.get(PATH.exec(path)?.[1] ?? '');
    const refuse = (status: string): void => void socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
    if (request.headers.authorization !== this.#authorization) return refuse('401 Unauthorized');
    if (execution === undefined) return refuse('404 Not Found');
    if (execution.isReaped) return refuse('410 Gone');
    if (execution.socket !== undefined) return refuse('409 Conflict');
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      if (met?.fault.kind === 'dropped') {
        // Whatever is left of it goes with the connection.
        execution.isReaped = true;
        client.send(Buffer.concat([Buffer.of(CHANNEL.stdout), Buffer.from('lost')]), () => client.terminate());
        return;
      }
      execution.socket = client;
      const pings = setInterval(() => client.ping(), PING_MS);
      client.once('close', () => {
        clearInterval(pings);
        execution.socket = undefined;
      });
      for (const frame of execution.waiting.splice(0)) client.send(frame);
      if (execution.isOver) this.#finish(execution);
    });
  }

  #finish({ socket, result }: Execution): void {
    socket?.send(JSON.stringify({ type: 'exit', exit_code: codeOf(result) }), () => socket.close(1000));
  }
}

function codeOf(result: CommandResult | undefined): number {
  return result?.exitCode ?? 137;
}
