import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { ServiceError, toDaytonaError } from './daytona-errors.ts';

describe('toDaytonaError', () => {
  it.each([
    [401, 'Unauthorized', 'AUTH_FAILED'],
    [403, 'Forbidden resource', 'PERMISSION_DENIED'],
    [403, 'Total memory limit exceeded. Maximum allowed: 10GiB.', 'QUOTA_EXCEEDED'],
    [400, 'Organization is suspended: Depleted credits', 'QUOTA_EXCEEDED'],
    [404, 'Sandbox with ID or name x not found', 'SANDBOX_NOT_FOUND'],
    [410, 'Sandbox x is gone', 'SANDBOX_NOT_FOUND'],
    [409, 'Sandbox with name x already exists', 'STATE_CONFLICT'],
    [400, 'bad request: sandbox x is not running', 'STATE_CONFLICT'],
    [400, 'Snapshot x not found', 'CREATE_FAILED'],
    [408, 'Command execution timed out', 'PROVIDER_UNAVAILABLE'],
    [500, 'Internal server error', 'PROVIDER_UNAVAILABLE'],
    [504, 'Gateway time-out', 'PROVIDER_UNAVAILABLE'],
    [undefined, 'socket hang up', 'PROVIDER_UNAVAILABLE'],
    [200, 'stream has been aborted', 'PROVIDER_UNAVAILABLE'],
  ])('makes %s "%s" %s, with what to do', (status, message, code) => {
    const error = toDaytonaError(new ServiceError(message, status));
    expect(error).toMatchObject({ code, message: `Daytona: ${message}` });
    expect(error.hint).toBeTruthy();
  });

  it.each([
    [{ 'retry-after': '7' }, 7000],
    [new Headers({ 'retry-after': '2' }), 2000],
    [{}, undefined],
    [undefined, undefined],
  ])('tells how long to wait from %s', (headers, retryAfterMs) => {
    const error = toDaytonaError(new ServiceError('Too many requests', 429, headers));
    expect([error.code, error.details['retryAfterMs']]).toEqual(['RATE_LIMITED', retryAfterMs]);
  });

  it('leaves our own errors as they are', () => {
    const error = new SubletError('CLOSED', 'closed');
    expect(toDaytonaError(error)).toBe(error);
  });
});
