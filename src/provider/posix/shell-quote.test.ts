import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandArgv, shellCommand, shellExports, shellQuote } from './shell-quote.ts';

const execute = promisify(execFile);
const words = fc.array(
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\0', '')),
  { minLength: 1, maxLength: 10 },
);

describe('shell quoting', () => {
  it('gives every word to the program as it is', async () => {
    await fc.assert(
      fc.asyncProperty(words, async (texts) => {
        const { stdout } = await execute('sh', ['-c', shellCommand(['printf', '%s\\0', ...texts])]);
        expect(stdout).toBe(texts.map((text) => `${Buffer.from(text).toString()}\0`).join(''));
      }),
      { numRuns: 40 },
    );
  });

  it('gives every variable its value', async () => {
    await fc.assert(
      fc.asyncProperty(words, async ([value = '']) => {
        const { stdout } = await execute('sh', ['-c', `${shellExports({ VALUE: value })}printf %s "$VALUE"`]);
        expect(stdout).toBe(Buffer.from(value).toString());
      }),
      { numRuns: 20 },
    );
  });

  it('leaves a plain word readable and a string command alone', () => {
    expect(shellCommand(['ls', '-l', 'a/b.txt'])).toBe("'ls' -l a/b.txt");
    expect(shellCommand('ls | wc -l')).toBe('ls | wc -l');
  });

  it('runs a program whose name reads like a keyword or an assignment', async () => {
    for (const name of ['if', 'a=b', '{', '!']) {
      await expect(execute('sh', ['-c', shellCommand([name])])).rejects.toMatchObject({ code: 127 });
    }
  });

  it('refuses a NUL byte, an empty command and a variable name that sh cannot hold', () => {
    expect(() => shellQuote('a\0b')).toThrow(expect.objectContaining({ code: 'USAGE' }));
    expect(() => commandArgv([])).toThrow(expect.objectContaining({ code: 'USAGE' }));
    expect(() => shellExports({ 'a-b': 'x' })).toThrow(expect.objectContaining({ code: 'USAGE' }));
    expect(() => shellExports({ 'x;id': 'x' })).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});
