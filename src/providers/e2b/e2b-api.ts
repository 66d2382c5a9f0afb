/** The control plane through the SDK's own client, with the status and the headers of every answer. */
import type * as e2b from 'e2b';
import { abortedError } from '../../core/errors.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import { E2B_SDK, type E2bConfig } from './e2b-config.ts';
import { E2bAnswer, isGone } from './e2b-errors.ts';

type Sdk = Pick<typeof e2b, 'ApiClient' | 'ConnectionConfig' | 'Sandbox'>;

export interface SandboxDetail {
  readonly sandboxID: string;
  readonly templateID: string;
  readonly envdVersion: string;
  readonly envdAccessToken?: string | undefined;
  readonly domain?: string | null | undefined;
  readonly state?: 'running' | 'paused' | undefined;
  readonly startedAt?: string | undefined;
  readonly endAt?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** null: nobody said. Absent: the server does not tell. */
  readonly allowInternetAccess?: boolean | null | undefined;
  readonly network?: { readonly allowOut?: readonly string[]; readonly denyOut?: readonly string[] } | undefined;
}

export interface NewE2bSandbox {
  readonly templateID: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly timeout: number;
  readonly allow_internet_access: boolean;
  readonly autoPause: boolean;
  readonly autoPauseMemory?: boolean;
}

export interface Metric {
  readonly memUsed?: number;
  readonly memTotal?: number;
  readonly diskUsed?: number;
  readonly diskTotal?: number;
}

interface Answer<T> {
  readonly data?: T | undefined;
  readonly error?: unknown;
  readonly response: {
    readonly ok: boolean;
    readonly status: number;
    readonly headers: { get(name: string): string | null };
  };
}

/** What one request may take; a create is limited by its caller. */
const REQUEST_MS = 60_000;
const PAGE = 100;

/** openapi-fetch's client, of which the SDK's types say more than is needed here. */
interface Client {
  GET<T>(path: string, init: object): Promise<Answer<T>>;
  POST<T>(path: string, init: object): Promise<Answer<T>>;
  PUT<T>(path: string, init: object): Promise<Answer<T>>;
  DELETE<T>(path: string, init: object): Promise<Answer<T>>;
}

export class E2bApi {
  readonly #sdk: Sdk;
  readonly #connection: e2b.ConnectionOpts;
  readonly #client: Client;
  /** Servers of the first generation have no `/v2` for creating and connecting. */
  #prefix: '/v2' | '' = '/v2';

  static async open(config: E2bConfig): Promise<E2bApi> {
    return new E2bApi(await loadSdk('e2b', E2B_SDK, () => import('e2b')), config);
  }

  private constructor(sdk: Sdk, { apiKey, connection }: E2bConfig) {
    this.#sdk = sdk;
    // Its retries are not wanted: a limit is told to the caller, who knows what else there is to do.
    this.#connection = { apiKey, ...connection, retries: 0, requestTimeoutMs: REQUEST_MS };
    const client = new sdk.ApiClient(new sdk.ConnectionConfig(this.#connection));
    this.#client = client.api as unknown as Client;
  }

  create(body: NewE2bSandbox, signal: AbortSignal): Promise<SandboxDetail> {
    return this.#newest((prefix) =>
      this.#ask<SandboxDetail>(this.#client.POST(`${prefix}/sandboxes`, { body, signal }), signal),
    );
  }

  /** Resumes a paused one. For one that runs, time only ever gets longer. */
  connect(id: string, body: { timeout: number; memory?: boolean }, signal: AbortSignal): Promise<SandboxDetail> {
    const params = { path: { sandboxID: id } };
    return this.#newest((prefix) =>
      this.#ask<SandboxDetail>(
        this.#client.POST(`${prefix}/sandboxes/{sandboxID}/connect`, { params, body, ...this.#within(signal) }),
        signal,
      ),
    );
  }

  /** undefined when it is gone. Does not wake it. */
  async find(id: string, signal: AbortSignal): Promise<SandboxDetail | undefined> {
    try {
      return await this.#one<SandboxDetail>('GET', id, '', {}, signal);
    } catch (cause) {
      if (isGone(cause)) return undefined;
      throw cause;
    }
  }

  /** Every page; running and paused ones. */
  async *list(metadata: Readonly<Record<string, string>>, signal: AbortSignal): AsyncGenerator<SandboxDetail> {
    const pairs = Object.entries(metadata).map(([key, value]) => [encodeURIComponent(key), encodeURIComponent(value)]);
    let nextToken: string | undefined;
    do {
      const query = {
        ...(pairs.length === 0
          ? {}
          : { metadata: new URLSearchParams(Object.fromEntries(pairs) as Record<string, string>).toString() }),
        state: ['running', 'paused'],
        limit: PAGE,
        ...(nextToken === undefined ? {} : { nextToken }),
      };
      let next: string | null = null;
      const asked = this.#client.GET<readonly SandboxDetail[]>('/v2/sandboxes', {
        params: { query },
        ...this.#within(signal),
      });
      const page = await this.#ask<readonly SandboxDetail[]>(
        asked.then((answer) => {
          next = answer.response.headers.get('x-next-token');
          return answer;
        }),
        signal,
      );
      yield* page ?? [];
      nextToken = next ?? undefined;
    } while (nextToken !== undefined);
  }

  /** Already gone is success. */
  async kill(id: string, signal: AbortSignal): Promise<void> {
    await this.#one('DELETE', id, '', {}, signal).catch((cause: unknown) => {
      if (!isGone(cause)) throw cause;
    });
  }

  async setTimeout(id: string, seconds: number, signal: AbortSignal): Promise<void> {
    await this.#one('POST', id, '/timeout', { body: { timeout: seconds } }, signal);
  }

  /** Already paused is success. */
  async pause(id: string, keepMemory: boolean, signal: AbortSignal): Promise<void> {
    await this.#one('POST', id, '/pause', { body: keepMemory ? {} : { memory: false } }, signal).catch(
      (cause: unknown) => {
        if (!(cause instanceof E2bAnswer && cause.status === 409)) throw cause;
      },
    );
  }

  async cutNetwork(id: string, signal: AbortSignal): Promise<void> {
    await this.#one('PUT', id, '/network', { body: { allow_internet_access: false } }, signal);
  }

  metrics(id: string, signal: AbortSignal): Promise<readonly Metric[]> {
    return this.#one<readonly Metric[]>('GET', id, '/metrics', {}, signal);
  }

  /** The SDK's own object for what is inside, made without asking the service, which would wake it. */
  sandbox(detail: SandboxDetail): e2b.Sandbox {
    return new this.#sdk.Sandbox({
      ...this.#connection,
      sandboxId: detail.sandboxID,
      envdVersion: detail.envdVersion,
      ...(detail.domain ? { sandboxDomain: detail.domain } : {}),
      ...(detail.envdAccessToken === undefined ? {} : { envdAccessToken: detail.envdAccessToken }),
    });
  }

  /** The server does not know the newer path: the older one answers for both. */
  async #newest<T>(ask: (prefix: '/v2' | '') => Promise<T>): Promise<T> {
    try {
      return await ask(this.#prefix);
    } catch (cause) {
      const isUnknown = cause instanceof E2bAnswer && (cause.status === 404 || cause.status === 405);
      if (!isUnknown || this.#prefix === '') throw cause;
      const answer = await ask('');
      this.#prefix = '';
      return answer;
    }
  }

  #one<T>(verb: keyof Client, id: string, action: string, init: object, signal: AbortSignal): Promise<T> {
    const params = { path: { sandboxID: id } };
    const asked = this.#client[verb]<T>(`/sandboxes/{sandboxID}${action}`, {
      params,
      ...init,
      ...this.#within(signal),
    });
    return this.#ask(asked, signal);
  }

  async #ask<T>(asked: Promise<Answer<T>>, signal: AbortSignal): Promise<T> {
    try {
      const { data, error, response } = await asked;
      if (response.ok) return data as T;
      throw new E2bAnswer(response.status, wordsOf(error), retryAfterMs(response.headers.get('retry-after')));
    } catch (cause) {
      if (signal.aborted) throw abortedError(signal);
      throw cause;
    }
  }

  #within(signal: AbortSignal): { readonly signal: AbortSignal } {
    return { signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]) };
  }
}

function wordsOf(error: unknown): string {
  if (typeof error === 'string') return error.slice(0, 500);
  const message = (error as { message?: unknown } | undefined)?.message;
  return typeof message === 'string' ? message : 'no reason given';
}

function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
