import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SubletError } from './errors.ts';
import { formatSessionKey, parseSessionKey, SANDBOX_KINDS, sessionKey, type SessionKeyParts } from './session-key.ts';

// Dense in what could confuse the format: separators, percent signs, escapes, control characters, lone surrogates.
const awkward = fc.constantFrom(
  ':',
  '%',
  '%3A',
  '%3a',
  '%25',
  '%253A',
  '%u0000',
  '%/',
  '%/0',
  'u',
  '\n',
  '\0',
  '\ud800',
  '\udfff',
  'é',
  '🧪',
  ' ',
  'a',
);
const part = fc.oneof(
  fc.array(awkward, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', minLength: 1 }),
);
const parts: fc.Arbitrary<SessionKeyParts> = fc.record(
  {
    kind: fc.constantFrom(...SANDBOX_KINDS),
    user: part,
    task: part,
    member: fc.record({ runtime: part, slot: fc.nat(99) }),
  },
  { requiredKeys: ['kind', 'user', 'task'] },
);

describe('formatSessionKey', () => {
  it('is undone by parseSessionKey, whatever the parts hold', () => {
    fc.assert(
      fc.property(parts, (given) => {
        expect(parseSessionKey(formatSessionKey(given))).toEqual(given);
      }),
      { numRuns: 2_000 },
    );
  });

  it('gives two different (kind, user, task, member) two different keys, also once stored as UTF-8', () => {
    const stored = (given: SessionKeyParts): string => Buffer.from(formatSessionKey(given), 'utf8').toString('hex');
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const same = isDeepStrictEqual(a, b);
        expect(stored(a) === stored(b)).toBe(same);
      }),
      { numRuns: 5_000 },
    );
  });

  it('does not let a user and a task trade a separator', () => {
    const one = formatSessionKey({ kind: 'execution', user: 'a:b', task: 'c' });
    const other = formatSessionKey({ kind: 'execution', user: 'a', task: 'b:c' });
    expect(one).toBe('execution:a%3Ab:c');
    expect(other).toBe('execution:a:b%3Ac');
  });

  it('keeps different lone surrogates apart, which UTF-8 would merge', () => {
    const keys = ['\ud800', '\udfff'].map((task) => sessionKey({ task }));
    expect(keys).toEqual(['execution:anonymous:%ud800', 'execution:anonymous:%udfff']);
  });

  it('holds no control character, so that it can be printed', () => {
    expect(formatSessionKey({ kind: 'app', user: '\u001b[31m', task: 'a\nb' })).toBe('app:%u001b[31m:a%u000ab');
  });

  it('leaves ordinary text as it is, unicode included', () => {
    expect(formatSessionKey({ kind: 'desktop', user: 'zoë@example.org', task: 'chat 🧪/1' })).toBe(
      'desktop:zoë@example.org:chat 🧪/1',
    );
  });

  it('refuses a kind that is none', () => {
    expect(() => sessionKey({ kind: 'app:x' as never, task: 't' })).toThrow(SubletError);
  });
});

describe('sessionKey', () => {
  it('takes the task, else the conversation, else a new one', () => {
    expect(sessionKey({ task: 't', conversation: 'c' })).toBe('execution:anonymous:t');
    expect(sessionKey({ conversation: 'c' })).toBe('execution:anonymous:c');
    expect(sessionKey({ kind: 'app', user: 'u' }, () => 'new')).toBe('app:u:new');
  });

  it('never repeats a new task', () => {
    expect(sessionKey({})).not.toBe(sessionKey({}));
  });

  it('takes empty parts as missing', () => {
    expect(sessionKey({ user: '', task: '', conversation: '' }, () => 'new')).toBe('execution:anonymous:new');
  });
});

describe('parseSessionKey', () => {
  it.each([
    ['build', { kind: 'execution', user: 'anonymous', task: 'build' }],
    ['ann:build', { kind: 'execution', user: 'ann', task: 'build' }],
    ['app:ann:build', { kind: 'app', user: 'ann', task: 'build' }],
    ['app::', { kind: 'app', user: 'anonymous', task: 'default' }],
    ['a%3ab', { kind: 'execution', user: 'anonymous', task: 'a:b' }],
    ['100%', { kind: 'execution', user: 'anonymous', task: '100%' }],
    ['%U00E9', { kind: 'execution', user: 'anonymous', task: 'é' }],
  ])('reads %s', (text, expected) => {
    expect(parseSessionKey(text)).toEqual(expected);
  });

  it.each(['', 'a:b:c:d', 'robot:ann:build', ':ann:build'])('refuses "%s" and says what a key is', (text) => {
    try {
      parseSessionKey(text);
      expect.unreachable();
    } catch (error) {
      expect(SubletError.is(error, 'USAGE')).toBe(true);
      expect((error as SubletError).hint).toContain('kind:user:task');
    }
  });
});
