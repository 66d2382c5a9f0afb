import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { isBroken, toLangsmithError } from './langsmith-errors.ts';

/** As the client that manages sandboxes throws it. */
const answer = (status: number | undefined, message: string, headers: Record<string, string> = {}): Error =>
  Object.assign(new Error(`${status} {…}`), {
    status,
    headers: new Headers(headers),
    error: { detail: { error: 'Some', message } },
  });

/** As the client of a sandbox throws it. */
const thrown = (name: string, message: string): Error => Object.assign(new Error(message), { name });

describe('toLangsmithError', () => {
  it.each([
    [401, 'Invalid API key', 'AUTH_FAILED'],
    [403, 'Forbidden', 'PERMISSION_DENIED'],
    [404, "Sandbox 'x' not found", 'SANDBOX_NOT_FOUND'],
    [409, 'Name already exists', 'STATE_CONFLICT'],
    [400, 'Snapshot not found', 'CREATE_FAILED'],
    [422, 'idle_ttl_seconds must be a multiple of 60', 'CREATE_FAILED'],
    [429, 'Sandbox count quota exceeded', 'QUOTA_EXCEEDED'],
    [500, 'Sandbox creation failed', 'PROVIDER_UNAVAILABLE'],
    [504, 'Sandbox did not become ready in time', 'PROVIDER_UNAVAILABLE'],
    [undefined, 'Connection error.', 'PROVIDER_UNAVAILABLE'],
  ])('makes %s "%s" %s, with what to do', (status, message, code) => {
    const error = toLangsmithError(answer(status, message));
    expect(error).toMatchObject({ code, message: `LangSmith: ${message}` });
    expect(error.hint).toBeTruthy();
  });

  it.each([
    ['LangSmithSandboxAuthenticationError', 'no', 'AUTH_FAILED'],
    ['LangSmithResourceNotFoundError', "Sandbox 'x' not found", 'SANDBOX_NOT_FOUND'],
    ['LangSmithSandboxNotReadyError', 'wait', 'STATE_CONFLICT'],
    ['LangSmithSandboxConnectionError', 'WebSocket connection closed (code: 1006)', 'PROVIDER_UNAVAILABLE'],
    [
      'LangSmithSandboxConnectionError',
      'WebSocket upgrade to ws://a/b rejected by server (HTTP 404)',
      'SANDBOX_NOT_FOUND',
    ],
    ['LangSmithSandboxConnectionError', 'WebSocket upgrade to ws://a/b rejected by server (HTTP 401)', 'AUTH_FAILED'],
    ['LangSmithSandboxOperationError', 'Command not found: 1', 'PROVIDER_UNAVAILABLE'],
  ])('makes %s "%s" %s', (name, message, code) => {
    expect(toLangsmithError(thrown(name, message)).code).toBe(code);
  });

  it('tells how long to wait', () => {
    const error = toLangsmithError(answer(429, 'Too many requests', { 'retry-after': '3' }));
    expect([error.code, error.details['retryAfterMs']]).toEqual(['RATE_LIMITED', 3000]);
    const refusal = thrown(
      'LangSmithSandboxRetryableConnectionError',
      'WebSocket upgrade to ws://a rejected by server (HTTP 429)',
    );
    const limited = toLangsmithError(Object.assign(refusal, { retryAfterSeconds: 2 }));
    expect([limited.code, limited.details['retryAfterMs']]).toEqual(['RATE_LIMITED', 2000]);
  });

  it('does not tell the address of a sandbox', () => {
    const said = 'WebSocket upgrade to wss://tenant.example/box?token=t rejected by server (HTTP 502)';
    expect(toLangsmithError(thrown('LangSmithSandboxConnectionError', said)).message).toBe(
      'LangSmith: refused with 502',
    );
  });

  it('says ABORTED when the caller gave up, and leaves our own errors as they are', () => {
    expect(toLangsmithError(new Error('Request was aborted.'), AbortSignal.abort()).code).toBe('ABORTED');
    const own = new SubletError('CLOSED', 'closed');
    expect(toLangsmithError(own)).toBe(own);
  });
});

describe('isBroken', () => {
  it('is a connection that ended, and none that was refused', () => {
    expect(isBroken(thrown('LangSmithSandboxServerReloadError', 'Server is reloading'))).toBe(true);
    expect(isBroken(thrown('LangSmithSandboxConnectionError', 'closed (code: 1006)'))).toBe(true);
    const refused = 'WebSocket upgrade to ws://a rejected by server (HTTP 404)';
    expect(isBroken(thrown('LangSmithSandboxConnectionError', refused))).toBe(false);
    expect(isBroken(new Error('other'))).toBe(false);
  });
});
