/** What services answer, as our errors: each adapter adds the words of its own. */
import { abortedError, type ErrorCode, SubletError } from '../../core/errors.ts';

export interface ServiceWords {
  /** As errors call it. */
  readonly title: string;
  /** The variable that holds the key. */
  readonly keyName: string;
  /** Where it says how it is. */
  readonly statusPage: string;
  /** How it says that there may be no more. */
  readonly quota: RegExp;
  /** How it says, without a 409, that the sandbox is in another state. */
  readonly conflict: RegExp;
}

export interface ServiceAnswer {
  /** undefined: there was no answer, or not all of it. */
  readonly status?: number | undefined;
  readonly message?: string | undefined;
  /** A `Headers` or a record with names in small letters. */
  readonly headers?: unknown;
}

const RATE = /rate limit|too many requests/i;
/** A request that can be sent again as it was. */
const AGAIN: readonly number[] = [408, 425];

/** An error of the table for whatever a call threw: `answer` is what it says of the service's answer. */
export function serviceError(
  words: ServiceWords,
  cause: unknown,
  answer: ServiceAnswer,
  signal?: AbortSignal,
): SubletError {
  if (SubletError.is(cause)) return cause;
  if (signal?.aborted === true) return abortedError(signal);
  const message = answer.message ?? String(cause);
  const retryAfterMs = readRetryAfter(answer.headers);
  const code = codeOf(words, answer.status, message, retryAfterMs);
  return new SubletError(code, `${words.title}: ${message}`, {
    cause,
    details: code === 'RATE_LIMITED' && retryAfterMs !== undefined ? { retryAfterMs } : {},
    hint: hintFor(code, words),
  });
}

export function isNotFound(error: unknown): boolean {
  return SubletError.is(error, 'SANDBOX_NOT_FOUND');
}

export function notFoundError(title: string, name: string, cause?: unknown): SubletError {
  return new SubletError('SANDBOX_NOT_FOUND', `${title} has no sandbox "${name}".`, { cause, details: { name } });
}

/** A use of a sandbox that is no longer there. */
export function lostError(title: string, name: string, cause?: unknown): SubletError {
  return new SubletError('SANDBOX_LOST', `${title} no longer has the sandbox "${name}".`, {
    cause,
    details: { name },
    hint: 'Its time was over, or it was removed elsewhere. Raise autoStopMinutes if it was used too rarely.',
  });
}

function codeOf(
  { quota, conflict }: ServiceWords,
  status: number | undefined,
  message: string,
  retryAfterMs: number | undefined,
): ErrorCode {
  // An answer that began well and broke off still has the status it began with.
  if (status === undefined || status < 400 || status >= 500 || AGAIN.includes(status)) return 'PROVIDER_UNAVAILABLE';
  if (status === 401) return 'AUTH_FAILED';
  const isQuota = status === 402 || (quota.test(message) && !RATE.test(message));
  // One status for too many requests and for too many sandboxes.
  if (status === 429) return isQuota && retryAfterMs === undefined ? 'QUOTA_EXCEEDED' : 'RATE_LIMITED';
  if (isQuota) return 'QUOTA_EXCEEDED';
  if (status === 403) return 'PERMISSION_DENIED';
  if (status === 404 || status === 410) return 'SANDBOX_NOT_FOUND';
  return status === 409 || conflict.test(message) ? 'STATE_CONFLICT' : 'CREATE_FAILED';
}

function hintFor(code: ErrorCode, { keyName, statusPage }: ServiceWords): string {
  switch (code) {
    case 'AUTH_FAILED':
      return `Check the key in ${keyName} or the profile.`;
    case 'PERMISSION_DENIED':
      return 'Give the key the permission in the dashboard.';
    case 'RATE_LIMITED':
      return 'Wait, then try again; fewer sandboxes at once help.';
    case 'QUOTA_EXCEEDED':
      return 'Destroy sandboxes that are not needed (sublet reap), or raise the account’s limits.';
    case 'SANDBOX_NOT_FOUND':
      return 'Its time was over, or it was removed elsewhere.';
    case 'STATE_CONFLICT':
      return 'Wait until its state has changed, then try again.';
    case 'CREATE_FAILED':
      return 'Change what was asked for.';
    default:
      return `Try again; ${statusPage} says how the service is.`;
  }
}

/** The header counts seconds or names an instant. */
function readRetryAfter(headers: unknown): number | undefined {
  const value = isHeaders(headers)
    ? headers.get('retry-after')
    : (headers as Readonly<Record<string, string | undefined>> | undefined)?.['retry-after'];
  if (value === undefined || value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/** SDKs bring a `Headers` of their own. */
function isHeaders(headers: unknown): headers is Pick<Headers, 'get'> {
  return typeof (headers as Partial<Headers> | undefined)?.get === 'function';
}
