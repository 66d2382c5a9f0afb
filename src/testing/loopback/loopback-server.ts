/** A service on loopback that takes and gives JSON, with faults in front of it. What it answers is the adapter's own fixture. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { FaultSwitchboard } from './fault-switchboard.ts';

/** An answer other than 200. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface LoopbackRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  /** JSON as it is, a form as `FormData`, or as `URLSearchParams` when it is one of fields alone. */
  readonly body: unknown;
}

export interface LoopbackServerOptions {
  /** What it throws is a refusal, or a failure of the server. */
  answer(request: LoopbackRequest): Promise<unknown>;
  /** A refusal in the service's words. */
  refuse?(refusal: Refusal, request: { readonly url: URL }): unknown;
  /** In its URL. Names can have others before them, numbers cannot. */
  readonly hostname?: string;
}

export class LoopbackServer {
  readonly faults: FaultSwitchboard = new FaultSwitchboard();
  /** For what is not JSON over HTTP: upgrades. */
  readonly http: Server;
  url = '';
  readonly #options: LoopbackServerOptions;

  constructor(options: LoopbackServerOptions) {
    this.#options = options;
    this.http = createServer(this.faults.wrap((request, response) => void this.#serve(request, response)));
    // As services do: what is asked over a connection that just closed is not asked again.
    this.http.keepAliveTimeout = 120_000;
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.http.listen(0, '127.0.0.1', resolve));
    const { port } = this.http.address() as { readonly port: number };
    this.url = `http://${this.#options.hostname ?? '127.0.0.1'}:${port}`;
  }

  async close(): Promise<void> {
    this.faults.clear();
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    try {
      const { method = 'GET', headers } = request;
      send(response, 200, (await this.#options.answer({ method, url, headers, body: await readBody(request) })) ?? {});
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, (error as Error).message);
      send(response, refusal.status, this.#options.refuse?.(refusal, { url }) ?? { message: refusal.message });
    }
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const bytes = Buffer.concat(chunks);
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('multipart/')) return new Response(bytes, { headers: { 'content-type': type } }).formData();
  if (type.startsWith('application/x-www-form-urlencoded')) return new URLSearchParams(bytes.toString());
  return bytes.length === 0 ? {} : JSON.parse(bytes.toString());
}
