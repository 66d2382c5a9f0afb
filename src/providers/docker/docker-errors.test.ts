import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { answerError, connectionError, isConflict, isGone } from './docker-errors.ts';

describe('what the engine answers', () => {
  it.each([
    [400, 'invalid reference format', 'CONFIG_INVALID', false],
    [401, 'unauthorized', 'AUTH_FAILED', false],
    [403, 'denied', 'PERMISSION_DENIED', false],
    [404, 'No such container: x', 'SANDBOX_NOT_FOUND', false],
    [409, 'Container x is paused', 'STATE_CONFLICT', true],
    [429, 'too many requests', 'RATE_LIMITED', true],
    [500, 'write /x: no space left on device', 'QUOTA_EXCEEDED', false],
    [500, 'can only create exec sessions on running containers: container state improper', 'STATE_CONFLICT', true],
    [500, 'server error', 'PROVIDER_UNAVAILABLE', true],
    [503, '', 'PROVIDER_UNAVAILABLE', true],
  ] as const)('%i "%s" is %s', (status, message, code, retryable) => {
    const error = answerError('do it', status, message);
    expect([error.code, error.retryable, error.details['status']]).toEqual([code, retryable, status]);
    expect(error.message).toContain(message || `status ${status}`);
  });

  it('tells gone from wrong', () => {
    expect([isGone(answerError('x', 404, '')), isConflict(answerError('x', 409, ''))]).toEqual([true, true]);
    expect([isGone(new Error('x')), isConflict(new SubletError('STATE_CONFLICT', 'of ours'))]).toEqual([false, false]);
  });
});

describe('no answer', () => {
  it.each([
    ['EACCES', 'PERMISSION_DENIED', /docker group/],
    ['ENOENT', 'PROVIDER_UNAVAILABLE', /docker info/],
    ['ECONNREFUSED', 'PROVIDER_UNAVAILABLE', /docker info/],
  ] as const)('%s is %s', (code, expected, hint) => {
    const error = connectionError(Object.assign(new Error('x'), { code }), 'unix:///x');
    expect(error.code).toBe(expected);
    expect(error.hint).toMatch(hint);
  });

  it('is the caller’s doing when the caller gave up', () => {
    expect(connectionError(new Error('x'), 'unix:///x', AbortSignal.abort()).code).toBe('ABORTED');
  });
});
