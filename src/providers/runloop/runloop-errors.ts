/** What Runloop answers, as our errors. */
import { abortedError, SubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { API_KEY, type RunloopConfig } from './runloop-config.ts';

const QUOTA = /quota|limit (exceeded|reached)|maximum number|insufficient/i;

/** An error of the table for anything that a call of the SDK throws. */
export function toRunloopError(cause: unknown, signal?: AbortSignal): SubletError {
  if (SubletError.is(cause)) return cause;
  if (signal?.aborted === true) return abortedError(signal);
  const { message, status, headers } = cause as { message?: string; status?: number; headers?: unknown };
  const said = `Runloop: ${message ?? String(cause)}`;
  if (status === undefined || status < 400 || status >= 500 || status === 408) {
    const hint = 'Try again; https://status.runloop.ai says how the service is.';
    return new SubletError('PROVIDER_UNAVAILABLE', said, { cause, hint });
  }
  if (status === 401)
    return new SubletError('AUTH_FAILED', said, { cause, hint: `Check the key in ${API_KEY} or the profile.` });
  if (status === 429 && !QUOTA.test(said)) {
    const retryAfterMs = retryAfter(headers);
    const details = retryAfterMs === undefined ? {} : { retryAfterMs };
    return new SubletError('RATE_LIMITED', said, { cause, details, hint: 'Wait, then try again.' });
  }
  if (QUOTA.test(said))
    return new SubletError('QUOTA_EXCEEDED', said, { cause, hint: 'Destroy devboxes, or raise the account’s limits.' });
  if (status === 403)
    return new SubletError('PERMISSION_DENIED', said, { cause, hint: 'Give the key the permission in the dashboard.' });
  if (status === 404 || status === 410)
    return new SubletError('SANDBOX_NOT_FOUND', said, { cause, hint: 'It was shut down, or never made.' });
  if (status === 409 || /not running|is suspended|invalid state/i.test(said))
    return new SubletError('STATE_CONFLICT', said, {
      cause,
      hint: 'Wait until its state has changed, then try again.',
    });
  return new SubletError('CREATE_FAILED', said, { cause, hint: 'Change what was asked for.' });
}

export async function translated<T>(answer: Promise<T>, signal?: AbortSignal): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw toRunloopError(cause, signal);
  });
}

export function isGone(error: unknown): boolean {
  return SubletError.is(error, 'SANDBOX_NOT_FOUND');
}

/** A use of a devbox that is no longer there. */
export function lostError(name: string, cause?: unknown): SubletError {
  return new SubletError('SANDBOX_LOST', `Runloop no longer has the devbox "${name}".`, { cause, details: { name } });
}

export function notFoundError(name: string): SubletError {
  return new SubletError('SANDBOX_NOT_FOUND', `Runloop has no devbox "${name}".`, { details: { name } });
}

/** Refuses what Runloop cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec, config: RunloopConfig): void {
  if (spec.network === 'allowlist' || (spec.network === 'none' && config.noNetworkPolicy === undefined)) {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', `Runloop has no network level "${spec.network}" by itself.`, {
      hint: 'Make a network policy that allows nothing and name it in runloop.noNetworkPolicy, for the level "none".',
    });
  }
  if ((spec.mounts ?? []).length > 0 || spec.contextId !== undefined) {
    throw new SubletError('UNSUPPORTED', 'A devbox sees no directories of this machine and has no volumes.', {
      hint: 'Copy the files in, or start from a blueprint or a snapshot that has them.',
    });
  }
  if (Object.values(spec.limits ?? {}).some((limit) => limit !== undefined)) {
    throw new SubletError('UNSUPPORTED', 'Runloop has sizes, not limits.', {
      hint: 'Set runloop.size in the profile.',
    });
  }
}

/** The header counts seconds or names an instant. */
function retryAfter(headers: unknown): number | undefined {
  const value = (headers as Readonly<Record<string, string | undefined>> | undefined)?.['retry-after'];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
