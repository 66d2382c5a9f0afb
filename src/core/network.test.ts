import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAtLeastAsTight, NETWORK_LEVELS, tighter, violates } from './network.ts';

const level = fc.constantFrom(...NETWORK_LEVELS);

describe('the ratchet', () => {
  it('orders open before allowlist before none', () => {
    expect(tighter('open', 'allowlist')).toBe('allowlist');
    expect(tighter('allowlist', 'none')).toBe('none');
    expect(tighter('none', 'open')).toBe('none');
  });

  it('is the same whichever order tightenings come in', () => {
    fc.assert(
      fc.property(level, level, level, (a, b, c) => {
        expect(tighter(a, b)).toBe(tighter(b, a));
        expect(tighter(tighter(a, b), c)).toBe(tighter(a, tighter(b, c)));
      }),
    );
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(level, level, (a, b) => {
        expect(tighter(a, a)).toBe(a);
        expect(tighter(tighter(a, b), b)).toBe(tighter(a, b));
      }),
    );
  });

  it('starts at open and ends at none', () => {
    fc.assert(
      fc.property(level, (a) => {
        expect(tighter(a, 'open')).toBe(a);
        expect(tighter(a, 'none')).toBe('none');
      }),
    );
  });

  it('never loosens, whatever is asked in whatever order', () => {
    fc.assert(
      fc.property(level, fc.array(level), (start, asked) => {
        let now = start;
        for (const next of asked) {
          const then = tighter(now, next);
          expect(isAtLeastAsTight(then, now)).toBe(true);
          expect(isAtLeastAsTight(then, next)).toBe(true);
          now = then;
        }
      }),
    );
  });
});

describe('violates', () => {
  it('holds for a known weaker level only', () => {
    fc.assert(
      fc.property(level, level, (fact, required) => {
        expect(violates(fact, required)).toBe(tighter(fact, required) !== fact);
      }),
    );
  });

  it('never holds for what is not known', () => {
    for (const required of NETWORK_LEVELS) expect(violates('unknown', required)).toBe(false);
  });
});
