import { describe, expect, it } from 'vitest';
import { didYouMean, nearest } from './nearest.ts';

const KNOWN = ['namespace', 'docker', 'e2b', 'daytona', 'local'];

describe('nearest', () => {
  it.each([
    ['dokcer', 'docker'],
    ['Docker', 'docker'],
    ['namespaces', 'namespace'],
    ['daytna', 'daytona'],
    ['e2', 'e2b'],
  ])('takes %s for %s', (typed, meant) => {
    expect(nearest(typed, KNOWN)).toBe(meant);
  });

  it.each(['kubernetes', 'x', ''])('has no guess for "%s"', (typed) => {
    expect(nearest(typed, KNOWN)).toBeUndefined();
  });

  it('prefers the closer of two', () => {
    expect(nearest('onExi', ['onLost', 'onExit'])).toBe('onExit');
  });
});

describe('didYouMean', () => {
  it('is a clause, or nothing', () => {
    expect(didYouMean('dokcer', KNOWN)).toBe('; did you mean "docker"?');
    expect(didYouMean('kubernetes', KNOWN)).toBe('');
  });
});
