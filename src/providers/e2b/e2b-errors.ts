/** The service's failures as ours. Its own error types do not leave this folder. */
import { abortedError, type ErrorCode, SubletError } from '../../core/errors.ts';

/** An answer of the control plane that is no success. */
export class E2bAnswer extends Error {
  override readonly name = 'E2bAnswer';
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, message: string, retryAfterMs: number | undefined) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

const KEY_HINT = 'Check E2B_API_KEY: https://e2b.dev/dashboard?tab=keys';
const AGAIN_HINT = 'Try again; https://status.e2b.dev tells of outages.';

/** By what the client calls its errors, since it is not loaded here. */
const BY_NAME: Readonly<Record<string, ErrorCode>> = {
  AuthenticationError: 'AUTH_FAILED',
  RateLimitError: 'RATE_LIMITED',
  SandboxNotFoundError: 'SANDBOX_NOT_FOUND',
  TemplateError: 'CREATE_FAILED',
  NotEnoughSpaceError: 'QUOTA_EXCEEDED',
};

/** Codes of the Connect protocol. */
const BY_CODE: Readonly<Record<number, ErrorCode>> = { 16: 'AUTH_FAILED', 7: 'PERMISSION_DENIED', 8: 'RATE_LIMITED' };

export function toE2bError(cause: unknown, signal?: AbortSignal): SubletError {
  if (SubletError.is(cause)) return cause;
  if (signal?.aborted === true) return abortedError(signal);
  if (cause instanceof E2bAnswer) return ofAnswer(cause);
  const { name, message, code } = cause as { name?: string; message?: string; code?: unknown };
  const known = BY_NAME[name ?? ''] ?? (typeof code === 'number' ? BY_CODE[code] : undefined);
  if (known !== undefined) return failure(known, message ?? 'E2B refused.', cause);
  return failure('PROVIDER_UNAVAILABLE', `E2B did not answer: ${message ?? String(cause)}`, cause);
}

export function isGone(cause: unknown): boolean {
  return cause instanceof E2bAnswer && cause.status === 404;
}

/** The service may have done it all the same: the answer was lost, or it failed half-way. */
export function isAmbiguous(cause: unknown): boolean {
  if (!(cause instanceof E2bAnswer)) return !SubletError.is(cause);
  return cause.status >= 500;
}

export function notFoundError(name: string, cause?: unknown): SubletError {
  return new SubletError('SANDBOX_NOT_FOUND', `E2B has no sandbox "${name}".`, { details: { name }, cause });
}

export function lostError(name: string, cause?: unknown): SubletError {
  return new SubletError('SANDBOX_LOST', `E2B no longer has the sandbox "${name}".`, {
    details: { name },
    hint: 'Its time was over, or it was killed elsewhere. Raise autoStopMinutes if it was used too rarely.',
    cause,
  });
}

export function pausedError(name: string, cause?: unknown): SubletError {
  return new SubletError('STATE_CONFLICT', `The sandbox "${name}" is paused.`, {
    details: { name },
    hint: 'Resume it first.',
    cause,
  });
}

function ofAnswer(cause: E2bAnswer): SubletError {
  const { status, message, retryAfterMs } = cause;
  const said = `E2B answered ${status}: ${message}`;
  if (status === 401) return failure('AUTH_FAILED', said, cause);
  if (status === 403) return failure('PERMISSION_DENIED', said, cause);
  if (status === 404) return failure('SANDBOX_NOT_FOUND', said, cause);
  if (status === 409) return failure('STATE_CONFLICT', said, cause);
  if (status === 429) {
    // The same status for too many requests and for too many sandboxes.
    const isQuota = retryAfterMs === undefined && /concurrent|quota|maximum number/i.test(message);
    const details = retryAfterMs === undefined ? {} : { retryAfterMs };
    return failure(isQuota ? 'QUOTA_EXCEEDED' : 'RATE_LIMITED', said, cause, details);
  }
  if (status >= 500) return failure('PROVIDER_UNAVAILABLE', said, cause);
  return failure('CREATE_FAILED', said, cause);
}

function failure(
  code: ErrorCode,
  message: string,
  cause: unknown,
  details: Readonly<Record<string, unknown>> = {},
): SubletError {
  return new SubletError(code, message, { cause, details: { provider: 'e2b', ...details }, hint: hintFor(code) });
}

function hintFor(code: ErrorCode): string {
  switch (code) {
    case 'AUTH_FAILED':
      return KEY_HINT;
    case 'PERMISSION_DENIED':
      return 'The key belongs to a team that may not do this.';
    case 'RATE_LIMITED':
      return 'Wait a little, or ask E2B for a higher limit.';
    case 'QUOTA_EXCEEDED':
      return 'Destroy sandboxes that are not needed (sublet reap), or ask E2B for more.';
    case 'CREATE_FAILED':
      return 'Check the template, the time-out and the network of the profile.';
    case 'SANDBOX_NOT_FOUND':
      return 'Its time was over, or it was killed elsewhere.';
    case 'STATE_CONFLICT':
      return 'Try again: somebody else is changing the sandbox.';
    default:
      return AGAIN_HINT;
  }
}
