/**
 * Speaks HTTP to one engine: JSON, streams in both directions, and connections that are taken over for a process's
 * input and output. Everything a caller sends is in the body or the path, never in a query that a proxy would log.
 */
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import type { Clock } from '../../core/clock.ts';
import { abortedError, type SubletError } from '../../core/errors.ts';
import { answerError, connectionError, silentError } from './docker-errors.ts';
import { type Download, EngineDownload } from './engine-download.ts';
import { describeEndpoint, type EngineEndpoint } from './engine-endpoint.ts';
import { readTlsFiles } from './tls-files.ts';

export interface EngineRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** Without the API version; its parts are already escaped. */
  readonly path: string;
  /** Completes "The engine could not …". */
  readonly what: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long the engine may be silent before its answer begins. */
  readonly patienceMs?: number | undefined;
}

/** An engine that works answers within moments; a create on a busy disk may take long. */
const PATIENCE_MS = 120_000;
/** The newest version whose answers are known here. */
const NEWEST_VERSION = [1, 47] as const;
const OLDEST_VERSION = [1, 40] as const;

export class EngineClient {
  readonly endpoint: EngineEndpoint;
  readonly #clock: Clock;
  readonly #connection: RequestOptions;
  readonly #agent: Agent;
  #version = `v${OLDEST_VERSION.join('.')}`;

  private constructor(endpoint: EngineEndpoint, clock: Clock, tls: RequestOptions) {
    this.endpoint = endpoint;
    this.#clock = clock;
    const isTls = endpoint.kind === 'tcp' && endpoint.tls !== undefined;
    this.#agent = isTls ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
    this.#connection =
      endpoint.kind === 'unix' ? { socketPath: endpoint.path } : { host: endpoint.host, port: endpoint.port, ...tls };
  }

  /** Connects and agrees on a version. PERMISSION_DENIED or PROVIDER_UNAVAILABLE when nobody answers. */
  static async connect(
    endpoint: EngineEndpoint,
    clock: Clock,
    options: { readonly signal?: AbortSignal | undefined; readonly patienceMs: number },
  ): Promise<EngineClient> {
    const tls = endpoint.kind === 'tcp' && endpoint.tls !== undefined ? await readTlsFiles(endpoint.tls) : {};
    const client = new EngineClient(endpoint, clock, tls);
    client.#version = '';
    const answer = await client.#send({ method: 'GET', path: '/_ping', what: 'say that it is there', ...options });
    answer.resume();
    client.#version = `v${agreedVersion(String(answer.headers['api-version'] ?? ''))}`;
    return client;
  }

  get address(): string {
    return describeEndpoint(this.endpoint);
  }

  /** The answer's JSON; undefined when it has none. */
  async json<T>(request: EngineRequest): Promise<T> {
    const answer = await this.#send(request);
    const body = await text(answer).catch((cause: unknown) => Promise.reject(this.#failure(cause, request.signal)));
    return (body.startsWith('{') || body.startsWith('[') ? JSON.parse(body) : undefined) as T;
  }

  /** The answer as it comes; the caller reads it to its end or destroys it. */
  stream(request: EngineRequest): Promise<IncomingMessage> {
    return this.#send(request);
  }

  /** A large answer, likewise. Over TLS Node reads it. */
  async download(request: Omit<EngineRequest, 'method' | 'body' | 'headers'>): Promise<Download> {
    const { what, path, signal, patienceMs = PATIENCE_MS } = request;
    const { endpoint } = this;
    const whole = { ...request, method: 'GET' } as const;
    if (endpoint.kind === 'tcp' && endpoint.tls !== undefined) return this.#send(whole);
    const download = new EngineDownload({
      connection: endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port },
      path: `/${this.#version}${path}`,
      clock: this.#clock,
      patienceMs,
      signal,
      silent: () => silentError(what, this.address, patienceMs),
      failure: (cause) => this.#failure(cause, signal),
    });
    const status = await download.status();
    if (download.isPlain && status < 400) return download;
    const said = download.isPlain ? messageOf(await text(download).catch(() => '')) : undefined;
    download.destroy();
    if (said === undefined) return this.#send(whole);
    throw answerError(what, status, said);
  }

  /** Sends `source` as the body, at the engine's pace, and waits for the answer. */
  async upload(request: EngineRequest, source: AsyncIterable<Uint8Array>): Promise<void> {
    const answer = await this.#send(request, source);
    answer.resume();
  }

  /** The connection itself, once the engine has handed it over. Not kept alive by anything but its user. */
  hijack(request: EngineRequest): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#open(request, { connection: 'Upgrade', upgrade: 'tcp' }, false, reject);
      outgoing.once('upgrade', (_answer, socket: Socket, head: Buffer) => {
        if (head.length > 0) socket.unshift(head);
        socket.setTimeout(0);
        resolve(socket);
      });
      outgoing.once('response', (answer) => void this.#refusal(request, answer).then(reject, reject));
      outgoing.end(bodyOf(request));
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Resolves with the head of a successful answer. */
  async #send(request: EngineRequest, source?: AsyncIterable<Uint8Array>): Promise<IncomingMessage> {
    const answer = await this.#sendOnce(request, source, true);
    // A kept connection was closed by then, as by an engine that was restarted: a new one tells.
    return answer === 'stale' ? ((await this.#sendOnce(request, source, false)) as IncomingMessage) : answer;
  }

  #sendOnce(
    request: EngineRequest,
    source: AsyncIterable<Uint8Array> | undefined,
    isPooled: boolean,
  ): Promise<IncomingMessage | 'stale'> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#open(request, {}, isPooled, (error) => {
        const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
        // What was written to a closed pipe has not arrived; what was reset may have, and is asked again only if that is harmless.
        const isUnsent = code === 'EPIPE' || (code === 'ECONNRESET' && request.method !== 'POST');
        if (outgoing.reusedSocket && isUnsent && source === undefined) resolve('stale');
        else reject(error);
      });
      outgoing.once('response', (answer) => {
        answer.on('error', () => undefined);
        if ((answer.statusCode ?? 500) < 400) resolve(answer);
        else void this.#refusal(request, answer).then(reject, reject);
      });
      if (source === undefined) outgoing.end(bodyOf(request));
      // A refusal comes before all is sent, and says more than the broken pipe.
      else
        pipeline(source, outgoing).catch((cause: unknown) =>
          setImmediate(() => reject(this.#failure(cause, request.signal))),
        );
    });
  }

  #open(
    request: EngineRequest,
    extra: Readonly<Record<string, string>>,
    isPooled: boolean,
    reject: (error: SubletError) => void,
  ): ClientRequest {
    const { signal } = request;
    const isTls = this.endpoint.kind === 'tcp' && this.endpoint.tls !== undefined;
    const body = bodyOf(request);
    const outgoing = (isTls ? httpsRequest : httpRequest)({
      ...this.#connection,
      agent: isPooled ? this.#agent : false,
      method: request.method,
      path: `${this.#version === '' ? '' : `/${this.#version}`}${request.path}`,
      headers: {
        // A socket has no name; that of a host is what its certificate is checked for.
        ...(this.endpoint.kind === 'unix' ? { host: 'docker' } : {}),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...request.headers,
        ...extra,
      },
    });
    const patienceMs = request.patienceMs ?? PATIENCE_MS;
    const cancel = this.#clock.schedule(patienceMs, () =>
      outgoing.destroy(silentError(request.what, this.address, patienceMs)),
    );
    const onAbort = (): void => void outgoing.destroy(abortedError(signal as AbortSignal));
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    const forget = (): void => {
      cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    outgoing.once('response', cancel);
    // A connection that was handed over is its user's, and lives on when the request's signal aborts.
    for (const event of ['upgrade', 'close']) outgoing.once(event, forget);
    outgoing.on('error', (cause) => reject(this.#failure(cause, signal)));
    return outgoing;
  }

  async #refusal(request: EngineRequest, answer: IncomingMessage): Promise<SubletError> {
    const body = await text(answer).catch(() => '');
    return answerError(request.what, answer.statusCode ?? 500, messageOf(body));
  }

  #failure(cause: unknown, signal: AbortSignal | undefined): SubletError {
    return connectionError(cause, this.address, signal);
  }
}

function bodyOf(request: EngineRequest): string | undefined {
  return request.body === undefined ? undefined : JSON.stringify(request.body);
}

function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as { readonly message?: string }).message ?? body;
  } catch {
    return body;
  }
}

/** The engine's own version, or the newest known here when it is newer still. */
export function agreedVersion(offered: string): string {
  const [major = 0, minor = 0] = offered.split('.').map(Number);
  if (major !== NEWEST_VERSION[0] || !Number.isInteger(minor)) return OLDEST_VERSION.join('.');
  return `${major}.${Math.min(minor, NEWEST_VERSION[1])}`;
}
