import { expect, it } from 'vitest';
import { inOneLine } from './one-line.ts';

it('keeps apart what stood on lines of its own', () => {
  expect(inOneLine('Tried:\n  one: no socket\n  two: refused')).toBe('Tried: one: no socket; two: refused');
  expect(inOneLine('It failed.\nTry again.')).toBe('It failed. Try again.');
  expect(inOneLine('as it is')).toBe('as it is');
});
