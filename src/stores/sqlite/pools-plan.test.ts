import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { MIGRATIONS } from './schema.ts';
import { COUNT, IDLE } from './tables/pools.ts';

describe('the statements of pools', () => {
  const database = new DatabaseSync(':memory:');
  for (const { sql } of MIGRATIONS) database.exec(sql);
  afterAll(() => database.close());

  function plan(sql: string, values: readonly (string | number)[]): string {
    const rows = database.prepare(`explain query plan ${sql}`).all(...values);
    return rows.map((row: { detail: string }) => row.detail).join('\n');
  }

  it('find the oldest idle sandbox in the index, without sorting', () => {
    expect(plan(IDLE, ['python', 'running', 'lane', 'none', 1])).toBe(
      'SEARCH sandboxes USING INDEX sandboxes_pool (pool=? AND state=? AND <expr>=?)',
    );
  });

  it('count from the index alone, what has ended left out', () => {
    expect(plan(COUNT, ['python'])).toMatch(
      /^SEARCH sandboxes USING (COVERING )?INDEX sandboxes_pool \(pool=\? AND state=\?\)/,
    );
  });
});
