import fc from 'fast-check';
import { expect, it } from 'vitest';
import { contentName } from './content-name.ts';

it('is the same for the same text, and 32 digits long', () => {
  expect(contentName('host')).toBe(contentName('host'));
  expect(contentName('')).toMatch(/^[0-9a-f]{32}$/);
});

it('tells apart whatever differs, wherever and however little', () => {
  const texts = Array.from({ length: 20_000 }, (_, at) => `root ${at}`);
  expect(new Set(texts.map(contentName)).size).toBe(texts.length);
  fc.assert(
    fc.property(
      fc.string({ maxLength: 200 }),
      fc.nat(),
      fc.string({ minLength: 1, maxLength: 2 }),
      (text, at, added) => {
        const place = at % (text.length + 1);
        expect(contentName(text.slice(0, place) + added + text.slice(place))).not.toBe(contentName(text));
      },
    ),
  );
});

it('changes half of its bits for one', () => {
  const bits = (text: string): string =>
    Array.from(contentName(text))
      .map((digit) => Number.parseInt(digit, 16).toString(2).padStart(4, '0'))
      .join('');
  const [one, other] = [bits(`${'x'.repeat(5_000)}a${'y'.repeat(40)}`), bits(`${'x'.repeat(5_000)}b${'y'.repeat(40)}`)];
  const changed = Array.from(one).filter((bit, at) => bit !== other[at]).length;
  expect(changed).toBeGreaterThan(40);
  expect(changed).toBeLessThan(88);
});
