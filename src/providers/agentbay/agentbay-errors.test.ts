import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { RefusedError, toAgentBayError } from './agentbay-errors.ts';
import { shellAnswerIn, shellCommand } from './tool-results.ts';

const refused = (httpStatus: number, code: string, message: string, headers = new Headers()): RefusedError =>
  new RefusedError({ httpStatus, code, message, headers });

describe('toAgentBayError', () => {
  it.each([
    [400, 'NOT_LOGIN', 'You are not logged in or your login token has expired', 'AUTH_FAILED'],
    [401, '', 'Unauthorized', 'AUTH_FAILED'],
    [403, 'NoPermission', 'no', 'PERMISSION_DENIED'],
    [400, 'InvalidMcpSession.NotFound', 'Resource [McpSession] is not found.', 'SANDBOX_NOT_FOUND'],
    [200, 'InvalidMcpSession.NotFound', '', 'SANDBOX_NOT_FOUND'],
    [400, 'InvalidImage.NotFound', 'Resource [Image] is not found.', 'CREATE_FAILED'],
    [404, 'InvalidAction.NotFound', 'Specified api is not found.', 'PROVIDER_UNAVAILABLE'],
    [409, 'Conflict', 'busy', 'STATE_CONFLICT'],
    [400, 'Throttling.User', 'Request was denied due to user flow control.', 'RATE_LIMITED'],
    [400, 'QuotaExceeded', 'The maximum number of sessions is reached.', 'QUOTA_EXCEEDED'],
    [400, 'BenefitLevel.NotSupport', 'not at this level', 'UNSUPPORTED'],
    [500, 'InternalError', 'oops', 'PROVIDER_UNAVAILABLE'],
    [503, 'ServiceUnavailable', 'later', 'PROVIDER_UNAVAILABLE'],
  ])('makes %s %s "%s" %s, with what to do', (status, code, message, expected) => {
    const error = toAgentBayError(refused(status, code, message));
    expect([error.code, error.hint !== undefined]).toEqual([expected, true]);
  });

  it('tells how long to wait, and what a broken connection was', () => {
    const limited = toAgentBayError(refused(429, 'Throttling', 'slow down', new Headers({ 'retry-after': '3' })));
    expect([limited.code, limited.details['retryAfterMs']]).toEqual(['RATE_LIMITED', 3000]);
    const broken = toAgentBayError(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }));
    expect(broken).toMatchObject({ code: 'PROVIDER_UNAVAILABLE', message: expect.stringContaining('ECONNREFUSED') });
  });

  it('says ABORTED when the caller gave up, and leaves our own errors as they are', () => {
    expect(toAgentBayError(new Error('This operation was aborted'), AbortSignal.abort()).code).toBe('ABORTED');
    const own = new SubletError('CLOSED', 'closed');
    expect(toAgentBayError(own)).toBe(own);
  });
});

describe('what the shell of a session answers', () => {
  const said = (text: string, isError = false): Parameters<typeof shellAnswerIn>[0] => ({
    isError,
    content: [{ text }],
  });

  it('has the exit status behind the output, whatever else is told', () => {
    const wrapped = said(JSON.stringify({ stdout: 'out\u001e7', stderr: '', exit_code: 7 }), true);
    expect(shellAnswerIn(wrapped)).toEqual({ exitCode: 7, output: 'out' });
    expect(shellAnswerIn(said('{"a": 1}\u001e0'))).toEqual({ exitCode: 0, output: '{"a": 1}' });
    expect(shellCommand('exit 3')).toBe("(\nexit 3\n)\nprintf '\\036%s' $?");
  });

  it('is no answer when the service ended the call', () => {
    const ended = said('Execution failed. Error code:-1 Error message: [timeout]', true);
    expect(() => shellAnswerIn(ended)).toThrow(expect.objectContaining({ code: 'PROVIDER_UNAVAILABLE' }));
  });
});
