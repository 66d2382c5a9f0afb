import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SubletError } from './../core/errors.ts';
import { parseJson } from './parse-json.ts';

function messageFor(text: string): string {
  try {
    parseJson(text, 'docker.json', 'Edit it.');
  } catch (error) {
    expect(SubletError.is(error, 'CONFIG_INVALID')).toBe(true);
    return (error as SubletError).message;
  }
  return expect.unreachable();
}

describe('parseJson', () => {
  it('reads what JSON.parse reads, with or without a byte order mark', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, mark) => {
        const text = JSON.stringify(value, undefined, 2);
        expect(parseJson(`${mark ? '\uFEFF' : ''}${text}`, 'x')).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    ['a missing comma', '{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: "," or "}" is expected'],
    ['a trailing comma', '{\n  "a": 1,\n}', 'line 2, column 9: no comma may stand before "}"'],
    ['a trailing comma in a list', '[1, 2,]', 'line 1, column 6: no comma may stand before "]"'],
    ['a bare name', '{ a: 1 }', 'line 1, column 3: a name in double quotes is expected'],
    ['single quotes', `{ 'a': 1 }`, 'line 1, column 3: a name in double quotes is expected'],
    ['a missing colon', '{ "a" 1 }', 'line 1, column 7: ":" is expected'],
    ['a bare word', '{ "a": yes }', 'line 1, column 8: a value is expected'],
    ['a comment', '{\n  // note\n  "a": 1\n}', 'line 2, column 3: JSON has no comments'],
    ['an early end', '{ "a": ', 'line 1, column 8: the file ends where a value is expected'],
    ['an empty file', '', 'line 1, column 1: the file ends where a value is expected'],
    ['an open string', '{ "a": "b\n}', 'line 1, column 8: this text does not end on its line, or has a bad escape'],
    [
      'a bad escape',
      String.raw`{ "a": "\x" }`,
      'line 1, column 8: this text does not end on its line, or has a bad escape',
    ],
    ['more after the end', '{}\n{}', 'line 2, column 1: nothing may follow the closing bracket'],
    ['a number with a leading zero', '[01]', 'line 1, column 3: "," or "]" is expected'],
  ])('says where and what in %s', (_fault, text, expected) => {
    expect(messageFor(text)).toBe(`docker.json is not valid:\n  ${expected}`);
  });

  it('never quotes the text, which may hold a key', () => {
    expect(messageFor('{ "apiKey": hunter2 }')).not.toContain('hunter2');
  });

  it('finds a place in any text that JSON.parse refuses', () => {
    const broken = fc.tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', 'x')).map(([text, at, put]) => {
      const index = at % (text.length + 1);
      return text.slice(0, index) + put + text.slice(index + 1);
    });
    fc.assert(
      fc.property(broken, (text) => {
        fc.pre(!isJson(text));
        expect(messageFor(text)).toMatch(/line \d+, column \d+: /);
      }),
    );
  });

  it('reports a file nested too deep to scan', () => {
    expect(messageFor('['.repeat(200_000))).toContain('is not valid');
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
