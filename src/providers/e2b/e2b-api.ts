/** The control plane through the SDK's own client, with the status and the headers of every answer. */
import type * as e2b from 'e2b';
import { SubletError } from '../../core/errors.ts';
import { loadSdk } from '../../provider/load-sdk.ts';
import { E2B_SDK, type E2bConfig } from './e2b-config.ts';
import { E2bAnswer, toE2bError } from './e2b-errors.ts';

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
    readonly headers: Headers;
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

/** The SDK is loaded by the first call. */
export class E2bApi {
  readonly #connection: e2b.ConnectionOpts;
  #loaded: Promise<{ readonly sdk: Sdk; readonly client: Client }> | undefined;
  /** Servers of the first generation have no `/v2` for creating and connecting. */
  #prefix: '/v2' | '' = '/v2';

  constructor({ apiKey, connection }: E2bConfig) {
    // Its retries are not wanted: a limit is told to the caller, who knows what else there is to do.
    this.#connection = { apiKey, ...connection, retries: 0, requestTimeoutMs: REQUEST_MS };
  }

  create(body: NewE2bSandbox): Promise<SandboxDetail> {
    return this.#newest((prefix) => this.#ask((client) => client.POST<SandboxDetail>(`${prefix}/sandboxes`, { body })));
  }

  /** Resumes a paused one. For one that runs, time only ever gets longer. */
  connect(id: string, body: { timeout: number; memory?: boolean }, signal: AbortSignal): Promise<SandboxDetail> {
    const params = { path: { sandboxID: id } };
    return this.#newest((prefix) =>
      this.#ask(
        (client) =>
          client.POST<SandboxDetail>(`${prefix}/sandboxes/{sandboxID}/connect`, { params, body, ...within(signal) }),
        signal,
      ),
    );
  }

  /** Does not wake it. */
  get(id: string, signal: AbortSignal): Promise<SandboxDetail> {
    return this.#one<SandboxDetail>('GET', id, '', {}, signal);
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
      const page = await this.#ask(async (client) => {
        const request = { params: { query }, ...within(signal) };
        const answer = await client.GET<readonly SandboxDetail[]>('/v2/sandboxes', request);
        next = answer.response.headers.get('x-next-token');
        return answer;
      }, signal);
      yield* page ?? [];
      nextToken = next ?? undefined;
    } while (nextToken !== undefined);
  }

  async kill(id: string, signal: AbortSignal): Promise<void> {
    await this.#one('DELETE', id, '', {}, signal);
  }

  async setTimeout(id: string, seconds: number, signal: AbortSignal): Promise<void> {
    await this.#one('POST', id, '/timeout', { body: { timeout: seconds } }, signal);
  }

  /** Already paused is success. */
  async pause(id: string, keepMemory: boolean, signal: AbortSignal): Promise<void> {
    await this.#one('POST', id, '/pause', { body: keepMemory ? {} : { memory: false } }, signal).catch(
      (cause: unknown) => {
        if (!SubletError.is(cause, 'STATE_CONFLICT')) throw cause;
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
  async sandbox(detail: SandboxDetail): Promise<e2b.Sandbox> {
    const { sdk } = await this.#load();
    return new sdk.Sandbox({
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
      const { cause: answer } = cause as SubletError;
      const isUnknown = answer instanceof E2bAnswer && (answer.status === 404 || answer.status === 405);
      if (!isUnknown || this.#prefix === '') throw cause;
      const older = await ask('');
      this.#prefix = '';
      return older;
    }
  }

  #one<T>(verb: keyof Client, id: string, action: string, init: object, signal: AbortSignal): Promise<T> {
    const params = { path: { sandboxID: id } };
    return this.#ask(
      (client) => client[verb]<T>(`/sandboxes/{sandboxID}${action}`, { params, ...init, ...within(signal) }),
      signal,
    );
  }

  async #ask<T>(ask: (client: Client) => Promise<Answer<T>>, signal?: AbortSignal): Promise<T> {
    try {
      const { data, error, response } = await ask((await this.#load()).client);
      if (response.ok) return data as T;
      throw new E2bAnswer(response.status, wordsOf(error), response.headers);
    } catch (cause) {
      throw toE2bError(cause, signal);
    }
  }

  #load(): Promise<{ readonly sdk: Sdk; readonly client: Client }> {
    this.#loaded ??= this.#open().catch((error: unknown) => {
      // What was not installed may be there the next time.
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }

  async #open(): Promise<{ readonly sdk: Sdk; readonly client: Client }> {
    const sdk = await loadSdk('e2b', E2B_SDK, () => import('e2b'));
    const { api } = new sdk.ApiClient(new sdk.ConnectionConfig(this.#connection));
    return { sdk, client: api as unknown as Client };
  }
}

function within(signal: AbortSignal): { readonly signal: AbortSignal } {
  return { signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]) };
}

function wordsOf(error: unknown): string {
  if (typeof error === 'string') return error.slice(0, 500);
  const message = (error as { message?: unknown } | undefined)?.message;
  return typeof message === 'string' ? message : 'no reason given';
}
