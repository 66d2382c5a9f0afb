import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { wantsColours } from '../terminal.ts';
import { toExitStatus } from '../exit-status.ts';
import { formatBytes, formatSpan, formatUntil } from './amounts.ts';
import { createColours } from './colours.ts';
import { renderError } from './error.ts';
import { renderFields } from './fields.ts';
import { toJsonLine } from './json-lines.ts';

describe('formatSpan', () => {
  it.each([
    [0, '0s'],
    [59_999, '59s'],
    [61_000, '1m1s'],
    [3_600_000, '1h'],
    [90_061_000, '1d1h'],
    [86_400_000 + 5_000, '1d'],
    [-5, '0s'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(formatSpan(ms)).toBe(text);
  });
});

describe('formatUntil', () => {
  it('tells the future, the past and never apart', () => {
    expect(formatUntil(70_000, 10_000)).toBe('in 1m');
    expect(formatUntil(10_000, 70_000)).toBe('now');
    expect(formatUntil(undefined, 0)).toBe('-');
  });
});

describe('formatBytes', () => {
  it.each([
    [0, '0B'],
    [1023, '1023B'],
    [1536, '1.5KiB'],
    [512 * 2 ** 20, '512MiB'],
    [2 ** 40, '1TiB'],
    [2 ** 53, '8192TiB'],
  ])('shows %d as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});

describe('toJsonLine', () => {
  it('writes instants as ISO-8601 and leaves other numbers alone', () => {
    expect(
      toJsonLine({ at: 0, createdAt: 1_000, autoStopMinutes: 5, nested: { dueAt: undefined, stateAt: 2_000 } }),
    ).toBe(
      '{"at":"1970-01-01T00:00:00.000Z","createdAt":"1970-01-01T00:00:01.000Z","autoStopMinutes":5,"nested":{"stateAt":"1970-01-01T00:00:02.000Z"}}\n',
    );
  });
});

describe('renderFields', () => {
  it('indents what is nested and shows instants as ISO-8601', () => {
    expect(renderFields({ id: 'sbx_1', createdAt: 0, policy: { onExit: 'pause' }, gone: undefined })).toBe(
      'id         sbx_1\ncreatedAt  1970-01-01T00:00:00.000Z\npolicy\n  onExit  pause\n',
    );
  });
});

describe('renderError', () => {
  const colours = createColours(false);

  it('shows the code, the message and the hint', () => {
    const error = new SubletError('SANDBOX_NOT_FOUND', 'No sandbox is "x".', { hint: 'sublet ls lists them.' });
    expect(renderError(error, colours, false)).toBe(
      'sublet: SANDBOX_NOT_FOUND: No sandbox is "x".\n  sublet ls lists them.\n',
    );
  });

  it('does not let a message drive the terminal', () => {
    const error = new SubletError('FILE_FAILED', 'bad \u001b]0;title\u0007 name');
    expect(renderError(error, colours, false)).toBe('sublet: FILE_FAILED: bad \\x1b]0;title\\x07 name\n');
  });

  it('shows the chain of causes when asked to', () => {
    const error = new SubletError('INTERNAL', 'fault', { cause: new Error('the root') });
    expect(renderError(error, colours, true)).toContain('Caused by: Error: the root');
    expect(renderError(error, colours, false)).not.toContain('the root');
  });
});

describe('toExitStatus', () => {
  it.each([
    [{ exitCode: 3, timedOut: false }, 3],
    [{ exitCode: null, timedOut: true, signal: 'SIGKILL' }, 124],
    [{ exitCode: null, timedOut: false, signal: 'SIGTERM' }, 143],
    [{ exitCode: null, timedOut: false }, 70],
    [{ exitCode: null, timedOut: false, signal: 'SIGWHAT' }, 70],
  ])('turns %j into %d', (exit, status) => {
    expect(toExitStatus(exit).status).toBe(status);
  });

  it('says so when nobody knows how the command ended', () => {
    expect(toExitStatus({ exitCode: null, timedOut: false }).message).toContain('not known');
  });
});

describe('wantsColours', () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ TERM: 'dumb' }, true, false],
  ])('with %j on a terminal (%s) is %s', (env, isTerminal, wanted) => {
    expect(wantsColours(env, isTerminal)).toBe(wanted);
  });
});
