/**
 * A server that speaks E2B's protocol over any provider: unmodified clients of E2B point `E2B_API_URL` and
 * `E2B_SANDBOX_URL` at it. What it does not serve it refuses.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Sublet } from '../../core/api.ts';
import type { Clock } from '../../core/clock.ts';
import { systemClock } from '../../core/system-clock.ts';
import { ControlPlane } from './control-plane.ts';
import { toRefusal } from './e2b-refusal.ts';
import { EnvdGate } from './envd-gate.ts';
import { type Exchange, header, sendJson, toExchange } from './http-exchange.ts';
import { ServedSandboxes, type Template } from './served-sandboxes.ts';
import { isSame } from './signed-url.ts';

export type { Template } from './served-sandboxes.ts';

export interface E2bServerOptions {
  readonly sublet: Sublet;
  /** Whoever brings one of these may do everything. */
  readonly apiKeys: readonly string[];
  /** What each template's name stands for. Default: `base` is the sandbox that is chosen when none is named. */
  readonly templates?: Readonly<Record<string, Template>> | undefined;
  /** Of which each sandbox's ports have names below. */
  readonly domain?: string | undefined;
  readonly maxTimeoutSeconds?: number | undefined;
  readonly pageSize?: (() => number) | undefined;
  readonly clock?: Clock | undefined;
  /** Put in front of everything. */
  readonly front?: ((serve: RequestListener) => RequestListener) | undefined;
}

const DAY_SECONDS = 24 * 3600;

export class E2bServer {
  readonly sandboxes: ServedSandboxes;
  readonly #options: E2bServerOptions;
  readonly #server: Server;
  readonly #control: ControlPlane;
  readonly #envd: EnvdGate;

  constructor(options: E2bServerOptions) {
    const { sublet, clock = systemClock } = options;
    this.#options = options;
    this.sandboxes = new ServedSandboxes({ sublet, clock, templates: options.templates ?? { base: {} } });
    this.#control = new ControlPlane({
      sandboxes: this.sandboxes,
      domain: options.domain,
      maxTimeoutSeconds: options.maxTimeoutSeconds ?? DAY_SECONDS,
      pageSize: options.pageSize ?? (() => 100),
      now: () => clock.now(),
      metrics: async ({ session, gauge }) => [
        gauge.read(await sublet.sandboxes.metrics(session.sandboxId), clock.now()),
      ],
    });
    this.#envd = new EnvdGate(this.sandboxes, clock);
    const serve: RequestListener = (request, response) => void this.#serve(request, response);
    this.#server = createServer(options.front?.(serve) ?? serve);
    // A command may be quiet for longer than any fixed time.
    this.#server.requestTimeout = 0;
  }

  /** Resolves with the address, e.g. `http://127.0.0.1:3000`. */
  async listen(port = 0, host = '127.0.0.1'): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    const address = this.#server.address() as AddressInfo;
    return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
  }

  /** Ends what it served. The engine stays open. */
  async close(): Promise<void> {
    await this.sandboxes.close();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const exchange = toExchange(request, response);
      if (this.#envd.isFor(exchange)) await this.#envd.serve(exchange);
      else if (this.#isAllowed(exchange)) await this.#control.serve(exchange);
      else
        sendJson(response, 401, { code: 401, message: 'Invalid API key, please visit https://e2b.dev/docs/api-key' });
    } catch (cause) {
      const { status, message } = toRefusal(cause);
      if (response.headersSent) response.destroy();
      else sendJson(response, status, { code: status, message });
    }
    request.resume();
  }

  #isAllowed({ request }: Exchange): boolean {
    const key = header(request, 'x-api-key') ?? '';
    return this.#options.apiKeys.some((known) => isSame(known, key));
  }
}
