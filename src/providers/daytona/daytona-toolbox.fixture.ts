/** What runs in each sandbox of Daytona: programs and terminals. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { PtySize, RunningCommand } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import type { BackingSandbox, BackingSandboxes } from '../../testing/loopback/backing-sandboxes.ts';
import { Refusal } from '../../testing/loopback/loopback-server.ts';
import { splitWords } from './split-words.fixture.ts';

interface ExecuteBody {
  readonly command?: string;
  readonly cwd?: string;
  readonly envs?: Readonly<Record<string, string>>;
  readonly timeout?: number;
}

export class DaytonaToolbox {
  executing = 0;
  readonly #sandboxes: BackingSandboxes;
  readonly #isOld: boolean;
  readonly #terminals = new Map<string, RunningCommand>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => [...offered].find((each) => each === 'X-Daytona-Pty-Exit-Control') ?? false,
  });

  constructor(sandboxes: BackingSandboxes, isOld: boolean) {
    this.#sandboxes = sandboxes;
    this.#isOld = isOld;
  }

  async serve(method: string, path: string, body: unknown): Promise<unknown> {
    const [, id = '', action = ''] = /^\/toolbox\/([^/]+)\/(.*)$/.exec(path) ?? [];
    const sandbox = this.#running(id);
    if (`${method} ${action}` === 'GET work-dir') return { dir: sandbox.handle.workdir };
    if (`${method} ${action}` === 'POST process/execute') return this.#execute(sandbox, body as ExecuteBody);
    if (`${method} ${action}` === 'POST files/bulk-upload') return this.#upload(sandbox, body as FormData);
    const terminal = this.#terminals.get(/^process\/pty\/([^/]+)\/resize$/.exec(action)?.[1] ?? '');
    if (method === 'POST' && terminal !== undefined) return terminal.resize(body as PtySize);
    throw new Refusal(404, `Cannot ${method} ${path}`);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const id = /^\/toolbox\/([^/]+)\/process\/pty\/create-connect$/.exec(url.pathname)?.[1];
    try {
      const sandbox = this.#running(id ?? '');
      this.#sockets.handleUpgrade(request, socket, head, (ws) => void this.#terminal(sandbox, ws, request, url));
    } catch {
      socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
    }
  }

  close(): void {
    for (const client of this.#sockets.clients) client.terminate();
    this.#sockets.close();
  }

  #running(id: string): BackingSandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw new Refusal(404, 'sandbox not found');
    if (sandbox.state !== 'running') throw new Refusal(400, `bad request: sandbox ${id} is not running`);
    return sandbox;
  }

  async #execute({ handle }: BackingSandbox, { command, envs, timeout }: ExecuteBody): Promise<unknown> {
    if (command === undefined || command === '') throw new Refusal(400, 'command is required');
    this.executing++;
    const chunks: Uint8Array[] = [];
    const take = (chunk: Uint8Array): void => void chunks.push(Uint8Array.from(chunk));
    const result = await handle.commands
      .run(this.#isOld ? splitWords(command) : ['sh', '-c', command], {
        env: this.#isOld ? {} : (envs ?? {}),
        maxOutputBytes: 0,
        onStdout: take,
        onStderr: take,
        ...(timeout === undefined || timeout === 0 ? {} : { timeoutMs: timeout * 1000 }),
      })
      .catch((error: unknown) => {
        if (SubletError.is(error, 'SANDBOX_LOST') || SubletError.is(error, 'SANDBOX_NOT_FOUND'))
          throw new Refusal(404, 'sandbox not found');
        throw error;
      })
      .finally(() => this.executing--);
    if (result.timedOut) throw new Refusal(408, `Command execution timed out after ${timeout} seconds`);
    const text = Buffer.concat(chunks).toString('utf8');
    return { exitCode: result.exitCode ?? -1, result: text };
  }

  async #upload({ handle }: BackingSandbox, form: FormData): Promise<unknown> {
    const [path, file] = [form.get('files[0].path'), form.get('files[0].file')];
    if (typeof path !== 'string' || !(file instanceof Blob)) throw new Refusal(400, 'no file');
    await handle.files.write(path, new Uint8Array(await file.arrayBuffer()));
    return {};
  }

  async #terminal({ handle }: BackingSandbox, ws: WebSocket, request: IncomingMessage, url: URL): Promise<void> {
    const size = { cols: Number(url.searchParams.get('cols')), rows: Number(url.searchParams.get('rows')) };
    const encoded = /X-Daytona-Pty-Envs~([\w-]+)/.exec(request.headers['sec-websocket-protocol'] ?? '')?.[1];
    const env =
      encoded === undefined ? {} : (JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Record<string, string>);
    const shell = await handle.commands.start(['sh', '-i', '+m'], { pty: size, env });
    const id = url.searchParams.get('id') ?? '';
    this.#terminals.set(id, shell);
    ws.on('message', (data: Buffer) => void shell.writeStdin(data).catch(() => undefined));
    ws.send(JSON.stringify({ type: 'control', status: 'connected' }));
    for await (const chunk of shell.stream('stdout')) ws.send(chunk);
    const { exitCode } = await shell.wait();
    this.#terminals.delete(id);
    ws.send(JSON.stringify({ type: 'control', status: 'exited', exitCode: exitCode ?? 137 }));
    ws.close(1000, JSON.stringify({ exitCode: exitCode ?? 137 }));
  }
}
