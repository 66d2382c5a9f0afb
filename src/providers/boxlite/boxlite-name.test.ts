import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBoxName, toBoxName } from './boxlite-name.ts';

const OURS = {
  'sublet.installation': 'ins_0123456789abcdef',
  'sublet.sandbox': 'sbx_00112233445566aa',
  'sublet.owner': 'own_fedcba9876543210',
  'sublet.key-hash': '0123456789abcdef0123456789abcdef',
};
const NAME = 'sublet-00112233445566aa';

describe('the name of a box', () => {
  it('carries the labels of the engine in what a name may have', () => {
    const full = toBoxName({ name: NAME, labels: OURS, network: 'none' });
    expect(full).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$/);
    expect(full.length).toBeLessThan(110);
    expect(fromBoxName(full)).toEqual({ name: NAME, labels: OURS, network: 'none' });
  });

  it('carries any label that fits, and gives it back as it was', () => {
    // Two of them, and the longest of ours beside each, are 120 characters.
    const text = fc.string({ unit: 'binary', maxLength: 1 });
    const labels = fc.dictionary(
      fc.oneof(fc.constantFrom(...Object.keys(OURS)), text),
      fc.oneof(fc.constantFrom(...Object.values(OURS), 'ins_', '', '00112233445566aa'), text),
      { maxKeys: 2 },
    );
    fc.assert(
      fc.property(labels, fc.constantFrom('none', 'open', 'allowlist'), (given, network) => {
        const full = toBoxName({ name: NAME, labels: given, network });
        const back = fromBoxName(full);
        expect({ ...back?.labels }).toEqual({ ...given });
        expect([back?.name, back?.network]).toEqual([NAME, network]);
      }),
    );
  });

  it('is refused when the labels do not fit', () => {
    const labels = { ...OURS, note: 'x'.repeat(60) };
    expect(() => toBoxName({ name: NAME, labels, network: 'open' })).toThrow(
      expect.objectContaining({ code: 'CREATE_FAILED', hint: expect.stringContaining('labels') as unknown }),
    );
  });

  it.each([undefined, '', 'web', 'sublet-a', 'sublet-a.n', 'sublet-a.n9', 'sublet-a.zz.n0', 'other.i1.n0'])(
    'is not ours: %s',
    (full) => expect(fromBoxName(full)).toBeUndefined(),
  );
});
