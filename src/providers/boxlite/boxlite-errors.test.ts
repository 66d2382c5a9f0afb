import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { AnswerError, toBoxliteError } from './boxlite-errors.ts';

describe('toBoxliteError', () => {
  it.each([
    ['configuration error: auth: invalid or missing API key', 'AUTH_FAILED'],
    ['box not found: box not found: 01HJ', 'SANDBOX_NOT_FOUND'],
    ["invalid argument: box with name 'a' already exists", 'STATE_CONFLICT'],
    ['invalid state: invalid state: box is already running', 'STATE_CONFLICT'],
    ['resource exhausted: resource exhausted: slow down', 'RATE_LIMITED'],
    ['resource exhausted: maximum number of boxes reached', 'QUOTA_EXCEEDED'],
    ['images error: manifest unknown for x', 'CREATE_FAILED'],
    ['invalid argument: cpus must be between 1 and 32', 'CREATE_FAILED'],
    ['storage error: Rootfs path does not exist: /nowhere', 'CREATE_FAILED'],
    ['network error: upstream returned HTTP 503 Service Unavailable', 'PROVIDER_UNAVAILABLE'],
    ['engine reported an error: The VM failed to start', 'PROVIDER_UNAVAILABLE'],
    ['internal error: oops', 'PROVIDER_UNAVAILABLE'],
  ])('makes "%s" %s, with what to do', (message, code) => {
    const error = toBoxliteError(new Error(message));
    expect([error.code, error.hint !== undefined]).toEqual([code, true]);
  });

  it('says of a home that is in use what helps', () => {
    const cause = new Error('internal error: Another BoxliteRuntime is already using directory: /x');
    expect(toBoxliteError(cause)).toMatchObject({
      code: 'PROVIDER_UNAVAILABLE',
      hint: expect.stringContaining('boxlite serve') as unknown,
    });
  });

  it('tells how long a server wants to be left alone, and leaves our own errors as they are', () => {
    const limited = toBoxliteError(new AnswerError(429, 'slow down', new Headers({ 'retry-after': '2' })));
    expect([limited.code, limited.details['retryAfterMs']]).toEqual(['RATE_LIMITED', 2000]);
    const own = new SubletError('CLOSED', 'closed');
    expect(toBoxliteError(own)).toBe(own);
    expect(toBoxliteError(new Error('x'), AbortSignal.abort()).code).toBe('ABORTED');
  });
});
