import { describe, expect, it } from 'vitest';
import { abortedError, ERROR_CODES, SubletError, toSubletError, type ErrorCode } from './errors.ts';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

describe('the table of codes', () => {
  it.each(CODES)('%s has a status, an exit status, a retry rule and a title', (code) => {
    const { status, exit, retryable, title } = ERROR_CODES[code];
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
    expect(exit).toBeGreaterThan(0);
    expect(exit).toBeLessThan(256);
    expect(retryable).toBeTypeOf('boolean');
    expect(title).toMatch(/^[A-Z].*\.$/);
  });

  it('has no two titles alike', () => {
    expect(new Set(CODES.map((code) => ERROR_CODES[code].title)).size).toBe(CODES.length);
  });
});

describe('SubletError', () => {
  it('carries code, details, hint and cause', () => {
    const cause = new Error('why');
    const error = new SubletError('RATE_LIMITED', 'slow down', { details: { retryAfterMs: 5 }, hint: 'wait', cause });
    expect(error).toMatchObject({
      name: 'SubletError',
      code: 'RATE_LIMITED',
      message: 'slow down',
      hint: 'wait',
      retryable: true,
    });
    expect(error.details).toEqual({ retryAfterMs: 5 });
    expect(error.cause).toBe(cause);
  });

  it('has no cause at all when none was given', () => {
    expect('cause' in new SubletError('USAGE', 'x')).toBe(false);
  });

  it('is recognised by its brand, also from another copy of the package', () => {
    const foreign = Object.assign(new Error('x'), { [Symbol.for('sublet.error')]: true, code: 'USAGE' });
    expect(SubletError.is(foreign)).toBe(true);
    expect(SubletError.is(foreign, 'USAGE')).toBe(true);
    expect(SubletError.is(foreign, 'CLOSED')).toBe(false);
  });

  it.each([new Error('x'), { code: 'USAGE', [Symbol.for('sublet.error')]: true }, 'USAGE', null, undefined])(
    'is not %s',
    (value) => {
      expect(SubletError.is(value)).toBe(false);
    },
  );
});

describe('toSubletError', () => {
  it('leaves our own errors as they are', () => {
    const error = new SubletError('SANDBOX_LOST', 'gone');
    expect(toSubletError(error, 'INTERNAL')).toBe(error);
  });

  it('wraps others with the code given and keeps the cause', () => {
    const cause = new Error('refused');
    const error = toSubletError(cause, 'PROVIDER_UNAVAILABLE');
    expect(error).toMatchObject({ code: 'PROVIDER_UNAVAILABLE', message: 'refused', cause });
  });

  it('wraps what is not even an error', () => {
    expect(toSubletError('odd', 'INTERNAL')).toMatchObject({ code: 'INTERNAL', message: 'odd', cause: 'odd' });
  });

  it('says ABORTED when the signal says so', () => {
    expect(toSubletError(new Error('x'), 'INTERNAL', AbortSignal.abort('stop')).code).toBe('ABORTED');
  });

  it('keeps our own error over the signal', () => {
    const error = new SubletError('CREATE_FAILED', 'x');
    expect(toSubletError(error, 'INTERNAL', AbortSignal.abort())).toBe(error);
  });
});

describe('abortedError', () => {
  it('is the reason itself when that is one of ours', () => {
    const reason = new SubletError('CREATE_TIMEOUT', 'too slow');
    expect(abortedError(AbortSignal.abort(reason))).toBe(reason);
  });

  it('keeps any other reason as the cause', () => {
    const reason = new Error('enough');
    expect(abortedError(AbortSignal.abort(reason))).toMatchObject({ code: 'ABORTED', cause: reason });
  });
});
