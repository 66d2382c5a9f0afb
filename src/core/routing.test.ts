import { describe, expect, it } from 'vitest';
import type { ErrorCode } from './errors.ts';
import { ERROR_CODES, SubletError } from './errors.ts';
import { fallsThrough, isFault, routeExhausted, routeNames } from './routing.ts';

describe('an ordered choice', () => {
  it('is a list or names with commas', () => {
    expect(routeNames('docker, e2b,')).toEqual(['docker', 'e2b']);
    expect(routeNames(['docker', 'e2b'])).toEqual(['docker', 'e2b']);
    expect(routeNames('docker')).toEqual(['docker']);
  });

  it('goes on after what a provider caused, and after nothing else', () => {
    const codes = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => fallsThrough(new SubletError(code, '')));
    expect(codes).toEqual([
      'PROVIDER_UNUSABLE',
      'PROVIDER_UNAVAILABLE',
      'AUTH_FAILED',
      'PERMISSION_DENIED',
      'RATE_LIMITED',
      'QUOTA_EXCEEDED',
      'UNSUPPORTED',
      'SANDBOX_NOT_FOUND',
      'SANDBOX_LOST',
      'STATE_CONFLICT',
      'CREATE_FAILED',
      'CREATE_TIMEOUT',
      'NETWORK_NOT_ENFORCEABLE',
    ]);
  });

  it('holds against a provider what it failed at, not what it cannot do', () => {
    expect(isFault(new SubletError('QUOTA_EXCEEDED', ''))).toBe(true);
    expect(isFault(new SubletError('UNSUPPORTED', ''))).toBe(false);
  });

  it('that is at its end has a line for each', () => {
    const error = new SubletError('PROVIDER_UNUSABLE', 'Not here. Tried:\n  /a\n  /b', { hint: 'Start it.' });
    const passed = { profile: 'work', provider: 'docker', code: error.code, reason: error.message, hint: error.hint };
    expect(routeExhausted([passed], [error]).message).toBe(
      'None of 1 choices could make the sandbox:\n  work (docker): PROVIDER_UNUSABLE: Not here. Tried: /a; /b\n    Start it.',
    );
  });
});
