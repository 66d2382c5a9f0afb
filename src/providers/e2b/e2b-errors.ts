/** The service's failures as ours. Its own error types do not leave this folder. */
import { SubletError } from '../../core/errors.ts';
import { serviceError, type ServiceWords } from '../../provider/service/service-errors.ts';
import { API_KEY } from './e2b-config.ts';

/** An answer of the control plane that is no success. */
export class E2bAnswer extends Error {
  override readonly name = 'E2bAnswer';
  readonly status: number;
  readonly headers: unknown;

  constructor(status: number, message: string, headers: unknown) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

const WORDS: ServiceWords = {
  title: 'E2B',
  keyName: API_KEY,
  statusPage: 'https://status.e2b.dev',
  quota: /concurrent|quota|maximum number|not enough space/i,
  conflict: /is paused|not running/i,
};

/** By what the client calls its errors, since it is not loaded here: the status that says the same. */
const BY_NAME: Readonly<Record<string, number>> = {
  AuthenticationError: 401,
  RateLimitError: 429,
  SandboxNotFoundError: 404,
  TemplateError: 400,
  NotEnoughSpaceError: 402,
};

/** Codes of the Connect protocol. */
const BY_CODE: Readonly<Record<number, number>> = { 16: 401, 7: 403, 8: 429 };

export function toE2bError(cause: unknown, signal?: AbortSignal): SubletError {
  const { name = '', message, code, headers } = (cause ?? {}) as Partial<E2bAnswer> & { readonly code?: unknown };
  const status = cause instanceof E2bAnswer ? cause.status : (BY_NAME[name] ?? BY_CODE[Number(code)]);
  return serviceError(WORDS, cause, { status, message, headers }, signal);
}

export function pausedError(name: string, cause?: unknown): SubletError {
  return new SubletError('STATE_CONFLICT', `The sandbox "${name}" is paused.`, {
    details: { name },
    hint: 'Resume it first.',
    cause,
  });
}
