import { describe, expect, it } from 'vitest';
import { newId, providerName } from './ids.ts';

describe('newId', () => {
  it.each(['sbx', 'own', 'cmd', 'ins'] as const)('is %s_ and sixteen letters nobody misreads', (prefix) => {
    for (let round = 0; round < 200; round++)
      expect(newId(prefix)).toMatch(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{16}$`));
  });

  it('uses every letter of its alphabet equally often over all bytes', () => {
    const counts = new Map<string, number>();
    for (let start = 0; start < 256; start += 16) {
      const id = newId('sbx', (length) => Uint8Array.from({ length }, (_, index) => start + index));
      for (const letter of id.slice(4)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    expect(counts.size).toBe(32);
    expect(new Set(counts.values())).toEqual(new Set([8]));
  });

  it('does not repeat', () => {
    expect(new Set(Array.from({ length: 10_000 }, () => newId('sbx'))).size).toBe(10_000);
  });

  it('is the same for the same random bytes', () => {
    const zeros = (length: number): Uint8Array => new Uint8Array(length);
    expect(newId('sbx', zeros)).toBe('sbx_0000000000000000');
  });
});

describe('providerName', () => {
  it('is a name every provider accepts: lower case, digits, dashes, under 63 letters', () => {
    const id = newId('sbx');
    expect(providerName(id)).toBe(`sublet-${id.slice(4)}`);
    expect(providerName(id)).toMatch(/^[a-z][a-z0-9-]{0,62}$/);
  });
});
