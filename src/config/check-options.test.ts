import { describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../core/api.ts';
import { SubletError } from '../core/errors.ts';
import { checkOptions } from './check-options.ts';

function problemsOf(options: unknown): readonly string[] {
  try {
    checkOptions(options as SandboxOptions);
    return [];
  } catch (error) {
    expect(SubletError.is(error, 'CONFIG_INVALID')).toBe(true);
    const [title, ...lines] = (error as SubletError).message.split('\n');
    expect(title).toBe('The call is not valid:');
    return lines.map((line) => line.trim());
  }
}

describe('checkOptions', () => {
  it('accepts a call with nothing, and one with everything', () => {
    expect(problemsOf({})).toEqual([]);
    const full: SandboxOptions = {
      sandbox: 'docker',
      image: 'python:3.12',
      network: 'open',
      env: { A: '1' },
      limits: { memoryBytes: 1, cpuMillis: 1, pids: 1, diskBytes: 1 },
      mounts: [{ source: '/a', target: '/b', readOnly: false }],
      contextId: 'x',
      policy: {
        autoStopMinutes: 0,
        idleAction: 'stop',
        onExit: 'keep',
        onLost: 'restore',
        timeoutSeconds: 1,
        healthCheck: false,
      },
    };
    expect(problemsOf(full)).toEqual([]);
  });

  it('takes undefined as not given, everywhere', () => {
    expect(
      problemsOf({ image: undefined, limits: { pids: undefined }, policy: { onExit: undefined }, env: undefined }),
    ).toEqual([]);
  });

  it('ignores options that are not about the sandbox', () => {
    expect(problemsOf({ cwd: '/x', timeoutMs: 5, stdin: 'x' })).toEqual([]);
  });

  it('reports everything at once', () => {
    const options = {
      sandbox: '',
      network: 'opne',
      limits: { memoryBytes: -1, cpus: 2 },
      mounts: [{ source: 'a', target: '/b' }, { source: '/a' }],
      policy: { autoStopMinutes: Number.NaN, onexit: 'keep', timeoutSeconds: 0 },
      env: { 'A B': 'x', N: 1 },
    };
    expect(problemsOf(options)).toEqual([
      'sandbox: must be the name of a profile or a provider, or a list of them',
      'network: must be one of open, allowlist, none; did you mean "open"?',
      'env.A B: is not a name a variable can have',
      'env.N: must be a string',
      'limits.memoryBytes: must be a whole number, 1 or more',
      'limits.cpus: unknown key',
      'mounts.0.source: must be an absolute path',
      'mounts.1.target: must be an absolute path',
      'policy.autoStopMinutes: must be a number of minutes, 0 (never) or more, at most ten years',
      'policy.onexit: unknown key; did you mean "onExit"?',
      'policy.timeoutSeconds: must be a number of seconds from 1 to 86400',
    ]);
  });

  it.each([
    ['limits of another type', { limits: 5 }, 'limits: must be an object'],
    ['mounts of another type', { mounts: '/a:/b' }, 'mounts: must be a list'],
    ['env of another type', { env: ['A=1'] }, 'env: must be an object of strings'],
    [
      'endless minutes',
      { policy: { autoStopMinutes: Infinity } },
      'policy.autoStopMinutes: must be a number of minutes, 0 (never) or more, at most ten years',
    ],
    ['an inherited name', { limits: { toString: 1 } }, 'limits.toString: unknown key'],
    [
      'an idle limit beyond the deadline',
      { policy: { autoStopMinutes: 9, autoDeleteMinutes: 5 } },
      'policy.autoStopMinutes: must not exceed autoDeleteMinutes: it would never be reached',
    ],
    [
      'two mounts at one place',
      {
        mounts: [
          { source: '/a', target: '/x' },
          { source: '/b', target: '/x' },
        ],
      },
      'mounts.1.target: another mount has the same target',
    ],
  ])('refuses %s', (_fault, options, expected) => {
    expect(problemsOf(options)).toEqual([expected]);
  });

  it('never repeats the value of a variable', () => {
    expect(problemsOf({ env: { TOKEN: 'hunter2\0' } })).toEqual(['env.TOKEN: must not contain a NUL character']);
  });

  it('refuses bounds that no time-out is between', () => {
    expect(problemsOf({ policy: { autoStopMinMinutes: 5, autoStopMaxMinutes: 30 } })).toEqual([]);
    expect(problemsOf({ policy: { autoStopMinMinutes: 31, autoStopMaxMinutes: 30 } })).toEqual([
      'policy.autoStopMinMinutes: must not exceed autoStopMaxMinutes',
    ]);
    expect(problemsOf({ policy: { autoStopMinMinutes: 5, autoStopMaxMinutes: 0 } })).toEqual([
      'policy.autoStopMinMinutes: bounds nothing while autoStopMaxMinutes is 0',
    ]);
  });
});
