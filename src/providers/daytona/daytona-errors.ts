/** What Daytona answers, as our errors. Both ways of speaking to it fail in the same shape. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { API_KEY } from './daytona-config.ts';

/** In the shape of the SDK's errors, for plain HTTP. */
export class ServiceError extends Error {
  readonly statusCode: number | undefined;
  readonly headers: unknown;

  constructor(message: string, statusCode?: number, headers?: unknown) {
    super(message);
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

const QUOTA = /limit exceeded|quota|maximum allowed|insufficient|suspended/i;
const NOT_RUNNING = /not (running|started)|is (stopped|paused|archived)|no ip address|state change in progress/i;

/** An error of the table for anything that a call to the service throws. */
export function toDaytonaError(cause: unknown): SubletError {
  if (SubletError.is(cause)) return cause;
  const { message, statusCode: status, headers } = describe(cause);
  const said = `Daytona: ${message}`;
  // An answer that began well and broke off still has the status it began with.
  if (status === undefined || status < 400 || status >= 500 || status === 408 || status === 425) {
    const hint = 'Try again; https://status.daytona.io says how the service is.';
    return new SubletError('PROVIDER_UNAVAILABLE', said, { cause, hint });
  }
  if (status === 401)
    return new SubletError('AUTH_FAILED', said, { cause, hint: `Check the key in ${API_KEY} or the profile.` });
  if (status === 429) {
    const retryAfterMs = retryAfter(headers);
    return new SubletError('RATE_LIMITED', said, {
      cause,
      details: retryAfterMs === undefined ? {} : { retryAfterMs },
      hint: 'Wait, then try again; fewer sandboxes at once help.',
    });
  }
  if (QUOTA.test(message))
    return new SubletError('QUOTA_EXCEEDED', said, {
      cause,
      hint: 'Destroy sandboxes, or raise the account’s limits.',
    });
  if (status === 403)
    return new SubletError('PERMISSION_DENIED', said, { cause, hint: 'Give the key the permission in the dashboard.' });
  if (status === 404 || status === 410)
    return new SubletError('SANDBOX_NOT_FOUND', said, { cause, hint: 'It was deleted, or never made.' });
  if (status === 409 || NOT_RUNNING.test(message))
    return new SubletError('STATE_CONFLICT', said, {
      cause,
      hint: 'Wait until its state has changed, then try again.',
    });
  return new SubletError('CREATE_FAILED', said, { cause, hint: 'Change what was asked for.' });
}

export async function translated<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw toDaytonaError(cause);
  });
}

export function isGone(error: unknown): boolean {
  return SubletError.is(error, 'SANDBOX_NOT_FOUND');
}

/** A use of a sandbox that is no longer there. */
export function lostError(name: string, cause?: unknown): SubletError {
  return new SubletError('SANDBOX_LOST', `Daytona no longer has the sandbox "${name}".`, { cause, details: { name } });
}

export function notFoundError(name: string): SubletError {
  return new SubletError('SANDBOX_NOT_FOUND', `Daytona has no sandbox "${name}".`, { details: { name } });
}

/** Refuses what Daytona cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec): void {
  if (spec.network === 'allowlist') {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', 'The provider "daytona" does not enforce network "allowlist".', {
      hint: 'Ask for the network "none" or "open".',
    });
  }
  if ((spec.mounts ?? []).length > 0) {
    throw new SubletError('UNSUPPORTED', 'A sandbox of Daytona cannot see directories of this machine.', {
      hint: 'Copy the files in, or keep them in a volume (contextId).',
    });
  }
  if (Object.values(spec.limits ?? {}).some((limit) => limit !== undefined)) {
    throw new SubletError('UNSUPPORTED', 'Daytona sizes sandboxes by whole GiB and cores, not by limits.', {
      hint: 'Set daytona.cpu, daytona.memoryGiB and daytona.diskGiB in the profile.',
    });
  }
}

function describe(cause: unknown): Pick<ServiceError, 'message' | 'statusCode' | 'headers'> {
  const { message, statusCode, headers } = (cause ?? {}) as Partial<ServiceError>;
  return { message: message ?? String(cause), statusCode, headers };
}

/** The header counts seconds or names an instant. */
function retryAfter(headers: unknown): number | undefined {
  const value = headers instanceof Headers ? headers.get('retry-after') : readHeader(headers);
  if (value === undefined || value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

function readHeader(headers: unknown): string | undefined {
  return (headers as Readonly<Record<string, string | undefined>> | undefined)?.['retry-after'];
}
