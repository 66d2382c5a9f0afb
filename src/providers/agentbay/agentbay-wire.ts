/** One request of AgentBay's protocol: an action, its fields as a form with the key among them, and an answer in JSON. */
import { randomUUID } from 'node:crypto';
import { SubletError } from '../../core/errors.ts';
import type { AgentBayConfig } from './agentbay-config.ts';
import { RefusedError, toAgentBayError } from './agentbay-errors.ts';

export type Fields = Readonly<Record<string, string | number | undefined>>;

export interface WireOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Asking it twice does what asking it once does. */
  readonly isSafe?: boolean | undefined;
}

export interface WireAnswer<T> {
  readonly data: T;
  readonly nextToken: string | undefined;
}

interface Envelope {
  readonly Success?: boolean;
  readonly Code?: string;
  readonly Message?: string;
  readonly HttpStatusCode?: number;
  readonly Data?: unknown;
  readonly NextToken?: string;
}

const VERSION = '2025-05-06';
/** The gateway ends a request after a minute. */
const TIMEOUT_MS = 70_000;

export class AgentBayWire {
  readonly #config: AgentBayConfig;

  constructor(config: AgentBayConfig) {
    this.#config = config;
  }

  /** Asks once, or once more where that is safe. Rejects with an error of the table. */
  async ask<T>(action: string, fields: Fields, options: WireOptions = {}): Promise<WireAnswer<T>> {
    const answer = this.#askOnce<T>(action, fields, options);
    if (options.isSafe !== true) return answer;
    return answer.catch((error: unknown) => {
      if (!SubletError.is(error, 'PROVIDER_UNAVAILABLE')) throw error;
      return this.#askOnce<T>(action, fields, options);
    });
  }

  async #askOnce<T>(action: string, fields: Fields, options: WireOptions): Promise<WireAnswer<T>> {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    try {
      const response = await fetch(this.#url(action), { method: 'POST', body: this.#form(fields), signal });
      const { Data: data, NextToken: nextToken } = await readEnvelope(response);
      return { data: data as T, nextToken: nextToken === '' ? undefined : nextToken };
    } catch (cause) {
      throw toAgentBayError(cause, options.signal);
    }
  }

  #url(action: string): string {
    const query = new URLSearchParams({
      Action: action,
      Version: VERSION,
      Format: 'json',
      Timestamp: new Date().toISOString().replace(/\.\d+/, ''),
      SignatureNonce: randomUUID(),
    });
    return `${this.#config.endpoint}/?${query.toString()}`;
  }

  #form(fields: Fields): URLSearchParams {
    const form = new URLSearchParams({ Authorization: `Bearer ${this.#config.apiKey}` });
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, String(value));
    return form;
  }
}

async function readEnvelope(response: Response): Promise<Envelope> {
  const { status, headers } = response;
  const text = await response.text();
  const envelope = parse(text);
  if (response.ok && envelope !== undefined && envelope.Success !== false) return envelope;
  throw new RefusedError({
    // A refusal may come with 200, and what is not JSON is not from the service.
    httpStatus: response.ok ? (envelope === undefined ? 502 : (envelope.HttpStatusCode ?? 400)) : status,
    code: envelope?.Code ?? '',
    message: envelope?.Message ?? (text.slice(0, 300) || response.statusText),
    headers,
  });
}

/** A proxy in between answers in its own words. */
function parse(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
