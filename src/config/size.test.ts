import { describe, expect, it } from 'vitest';
import { parseSize } from './size.ts';

describe('parseSize', () => {
  it.each([
    ['0', 0],
    ['1024', 1024],
    ['10b', 10],
    ['512m', 512 * 1024 ** 2],
    ['512M', 512 * 1024 ** 2],
    ['512MiB', 512 * 1024 ** 2],
    ['512 mb', 512 * 1024 ** 2],
    ['1.5g', 1.5 * 1024 ** 3],
    [' 2k ', 2048],
    ['1t', 1024 ** 4],
  ])('reads %s', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['', 'm', '-1', '1e3', '0x10', '1.2.3', '5 apples', '9999999t', 'Infinity', '1m2'])(
    'does not read "%s"',
    (text) => {
      expect(parseSize(text)).toBeUndefined();
    },
  );
});
