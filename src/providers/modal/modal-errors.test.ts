import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { toModalError } from './modal-errors.ts';

/** As the SDK's transport throws it. */
const grpc = (code: number, details: string): Error =>
  Object.assign(new Error(`/modal.client.ModalClient/X: ${details}`), { code, details, path: '/x' });
const named = (name: string, message: string): Error => Object.assign(new Error(message), { name });

describe('an answer of Modal', () => {
  it.each([
    [grpc(16, 'Token validation failed'), 'AUTH_FAILED'],
    [grpc(7, 'no access'), 'PERMISSION_DENIED'],
    [grpc(5, 'Sandbox sb-1 not found'), 'SANDBOX_NOT_FOUND'],
    [grpc(9, 'Sandbox sb-1 has already finished'), 'SANDBOX_NOT_FOUND'],
    [grpc(9, "Could not find image with ID 'im-1'"), 'SANDBOX_NOT_FOUND'],
    [named('NotFoundError', 'gone'), 'SANDBOX_NOT_FOUND'],
    [named('ConflictError', 'Sandbox sb-1 has already finished'), 'SANDBOX_NOT_FOUND'],
    [grpc(6, "Sandbox with name 'x' already exists"), 'STATE_CONFLICT'],
    [grpc(9, 'busy'), 'STATE_CONFLICT'],
    [grpc(10, 'transaction'), 'STATE_CONFLICT'],
    [grpc(8, 'slow down'), 'RATE_LIMITED'],
    [grpc(8, 'Workspace limit of 100 sandboxes'), 'QUOTA_EXCEEDED'],
    [named('ResourceExhaustedError', 'Insufficient capacity to create sandbox.'), 'QUOTA_EXCEEDED'],
    [grpc(3, 'timeout may not exceed a day'), 'CREATE_FAILED'],
    [named('InvalidError', 'bad name'), 'CREATE_FAILED'],
    [new Error('Image build for im-1 failed with the exception:\nnot found'), 'CREATE_FAILED'],
    [grpc(14, 'Connection dropped'), 'PROVIDER_UNAVAILABLE'],
    [grpc(13, 'internal'), 'PROVIDER_UNAVAILABLE'],
    [grpc(4, 'Timed out after 60000ms'), 'PROVIDER_UNAVAILABLE'],
    [grpc(12, 'unknown method'), 'PROVIDER_UNAVAILABLE'],
    [named('TimeoutError', 'Timeout expired'), 'PROVIDER_UNAVAILABLE'],
    ['a string', 'PROVIDER_UNAVAILABLE'],
    [undefined, 'PROVIDER_UNAVAILABLE'],
  ])('%s is %s', (cause, code) => {
    const error = toModalError(cause);
    expect(error.code).toBe(code);
    expect(error.cause).toBe(cause);
    expect(error.hint).not.toBe('');
  });

  it('says how long to wait, and then it is no quota', () => {
    const error = toModalError(grpc(8, 'limit reached'), undefined, 1500);
    expect(error).toMatchObject({ code: 'RATE_LIMITED', details: { retryAfterMs: 1500 } });
  });

  it('is an abort when the caller gave up, and unchanged when it is ours', () => {
    expect(toModalError(grpc(1, 'cancelled'), AbortSignal.abort()).code).toBe('ABORTED');
    const ours = new SubletError('UNSUPPORTED', 'x');
    expect(toModalError(ours)).toBe(ours);
  });
});
