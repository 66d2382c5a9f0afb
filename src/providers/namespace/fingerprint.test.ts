import { describe, expect, it } from 'vitest';
import { differencesBetween, type Fingerprint } from './fingerprint.ts';

const FRESH: Fingerprint = {
  mount: ['/ / ro'],
  process: [],
  socket: [],
  device: ['lo'],
  file: ['/tmp (mode 41777, owner 0:0)'],
  user: ['uid_map 0 0 1'],
  limit: ['Max open files 1024'],
};

describe('two fingerprints', () => {
  it('do not differ by order or by how often a fact is told', () => {
    expect(differencesBetween(FRESH, { ...FRESH, mount: ['/ / ro', '/ / ro'] })).toEqual([]);
  });

  it.each(Object.keys(FRESH) as (keyof Fingerprint)[])('differ by a %s more, in words', (part) => {
    const now = { ...FRESH, [part]: [...FRESH[part], 'something'] };
    expect(differencesBetween(FRESH, now)).toEqual([`a ${part} that was not there: something`]);
    expect(differencesBetween(now, FRESH)).toEqual([`a ${part} that was there: something`]);
  });
});
