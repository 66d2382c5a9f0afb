import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { toRunloopError } from './runloop-errors.ts';

const answer = (status: number | undefined, message: string, headers: unknown = {}): Error =>
  Object.assign(new Error(message), { status, headers });

describe('toRunloopError', () => {
  it.each([
    [401, 'Invalid API key.', 'AUTH_FAILED'],
    [403, 'Forbidden', 'PERMISSION_DENIED'],
    [404, 'Devbox dbx_1 not found', 'SANDBOX_NOT_FOUND'],
    [409, 'Conflict', 'STATE_CONFLICT'],
    [400, 'Devbox dbx_1 is not running', 'STATE_CONFLICT'],
    [400, 'Blueprint x not found', 'CREATE_FAILED'],
    [429, 'Maximum number of devboxes reached', 'QUOTA_EXCEEDED'],
    [408, 'Request timed out', 'PROVIDER_UNAVAILABLE'],
    [502, 'Bad gateway', 'PROVIDER_UNAVAILABLE'],
    [undefined, 'Connection error.', 'PROVIDER_UNAVAILABLE'],
  ])('makes %s "%s" %s, with what to do', (status, message, code) => {
    const error = toRunloopError(answer(status, message));
    expect(error).toMatchObject({ code, message: `Runloop: ${message}` });
    expect(error.hint).toBeTruthy();
  });

  it('tells how long to wait', () => {
    const error = toRunloopError(answer(429, 'Too many requests', { 'retry-after': '3' }));
    expect([error.code, error.details['retryAfterMs']]).toEqual(['RATE_LIMITED', 3000]);
  });

  it('says ABORTED when the caller gave up, and leaves our own errors as they are', () => {
    expect(toRunloopError(new Error('Request was aborted.'), AbortSignal.abort()).code).toBe('ABORTED');
    const own = new SubletError('CLOSED', 'closed');
    expect(toRunloopError(own)).toBe(own);
  });
});
