import { describe, expect, it } from 'vitest';
import { pendingMigrations } from './migrations.ts';

const MIGRATIONS = [1, 2, 3].map((version) => ({ version, name: `m${version}`, sql: '' }));

describe('pendingMigrations', () => {
  it.each([
    [0, [1, 2, 3]],
    [2, [3]],
    [3, []],
  ])('is what comes after version %i', (current, expected) => {
    const pending = pendingMigrations(MIGRATIONS, current, 'The store');
    expect(pending.map((migration) => migration.version)).toEqual(expected);
  });

  it('refuses a store that a newer version wrote, and says what to do', () => {
    expect(() => pendingMigrations(MIGRATIONS, 5, 'The store x')).toThrow(
      expect.objectContaining({
        code: 'STORE_TOO_NEW',
        message: 'The store x has schema version 5; this Sublet knows up to 3.',
        hint: expect.stringMatching(/Upgrade Sublet/),
        details: { found: 5, known: 3 },
      }),
    );
  });
});
