/** The Engine API as anybody would call it: one request after the other over the same socket, connections kept. */
import http from 'node:http';
import type { Socket } from 'node:net';

export interface EngineTarget {
  readonly host: string;
  readonly socketPath: string;
  readonly image: string;
}

const PATH = '/v1.41';
const KEEP_RUNNING = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done'];

/** The engine named by SUBLET_BENCH_DOCKER_HOST or that of the tests; undefined when there is none on a socket. */
export function benchEngine(): EngineTarget | undefined {
  const host = process.env['SUBLET_BENCH_DOCKER_HOST'] ?? process.env['SUBLET_TEST_DOCKER_HOST'];
  const image = process.env['SUBLET_BENCH_DOCKER_IMAGE'] ?? process.env['SUBLET_TEST_DOCKER_IMAGE'] ?? 'busybox';
  if (host?.startsWith('unix://') !== true) return undefined;
  return { host, socketPath: host.slice('unix://'.length), image };
}

export class RawEngine {
  readonly #target: EngineTarget;
  readonly #agent = new http.Agent({ keepAlive: true });

  constructor(target: EngineTarget) {
    this.#target = target;
  }

  async createAndStart(name: string): Promise<void> {
    const body = { Image: this.#target.image, Cmd: KEEP_RUNNING, HostConfig: { NetworkMode: 'none' } };
    await this.#call('POST', `/containers/create?name=${name}`, body);
    await this.#call('POST', `/containers/${name}/start`);
  }

  async remove(name: string): Promise<void> {
    await this.#call('DELETE', `/containers/${name}?force=true&v=true`);
  }

  /** Resolves with the exit code, the output read to its end. */
  async exec(name: string, command: readonly string[]): Promise<number> {
    const body = { AttachStdout: true, AttachStderr: true, Cmd: command };
    const { Id } = (await this.#call('POST', `/containers/${name}/exec`, body)) as { readonly Id: string };
    const socket = await this.#hijack(`/exec/${Id}/start`, { Detach: false, Tty: false });
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    return ((await this.#call('GET', `/exec/${Id}/json`)) as { readonly ExitCode: number }).ExitCode;
  }

  /** How many exec instances the engine lists for the container. */
  async execCount(name: string): Promise<number> {
    const details = (await this.#call('GET', `/containers/${name}/json`)) as {
      readonly ExecIDs: readonly string[] | null;
    };
    return details.ExecIDs?.length ?? 0;
  }

  close(): void {
    this.#agent.destroy();
  }

  #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const data = body === undefined ? undefined : JSON.stringify(body);
    const headers = data === undefined ? {} : jsonHeaders(data);
    return new Promise((resolve, reject) => {
      const request = http.request(
        { socketPath: this.#target.socketPath, agent: this.#agent, method, path: PATH + path, headers },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            if ((answer.statusCode ?? 500) >= 400) reject(new Error(`${method} ${path}: ${text}`));
            else resolve(text === '' ? undefined : (JSON.parse(text) as unknown));
          });
        },
      );
      request.on('error', reject);
      request.end(data);
    });
  }

  #hijack(path: string, body: unknown): Promise<Socket> {
    const data = JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const headers = { ...jsonHeaders(data), connection: 'Upgrade', upgrade: 'tcp' };
      const request = http.request({ socketPath: this.#target.socketPath, method: 'POST', path: PATH + path, headers });
      request.once('upgrade', (_answer, socket) => resolve(socket));
      request.once('error', reject);
      request.end(data);
    });
  }
}

function jsonHeaders(data: string): Record<string, string> {
  return { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(data)) };
}
