import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../../test/setup/postgres.ts';
import { requirement } from '../../../test/setup/requirements.ts';
import { LIVE_STATES } from '../../core/states.ts';
import type { SandboxQuery } from '../../store/store.ts';
import { openPostgresStore } from './index.ts';
import { sandboxSearch } from './sandbox-search.ts';

// Most are over, as in a store that has been used for long.
const FILL = `insert into sublet.sandboxes
  select 'sbx_' || n, 'name' || n, 'namespace', 'default', 'execution', case n % 50 when 0 then 'running' else 'destroyed' end,
    false, 'own_' || n % 500, 'host', 'alpha', case n % 50 when 0 then 'app:u:' || n end, null, 'none', '{}', '{}', n, n, n,
    case n % 100 when 0 then n end, null, 'made', null, 0, 1
  from generate_series(1, 20000) as n`;

describe.runIf(await requirement('postgres'))('sandboxSearch on twenty thousand rows', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
    await (await openPostgresStore({ url: database.url })).close();
    await database.query(FILL);
    await database.query('analyze sublet.sandboxes');
  });

  afterAll(() => database.drop());

  async function plan(query: SandboxQuery): Promise<string> {
    const { sql, values } = sandboxSearch(query, 'id, created_at');
    const rows = await database.query(`explain ${sql}`, values);
    return rows.map((row) => String(row['QUERY PLAN'])).join('\n');
  }

  it.each<[string, SandboxQuery, RegExp]>([
    ['what is due', { dueBy: 500 }, /sandboxes_due/],
    ['what is due of others', { dueBy: 500, notOwnedBy: ['own_1'] }, /sandboxes_due/],
    ['the newest', { limit: 20 }, /sandboxes_state/],
    ['the newest that live', { states: LIVE_STATES, limit: 20 }, /sandboxes_state/],
    ['a session', { sessionKey: 'app:u:50' }, /sandboxes_session/],
    ['an owner', { ownerId: 'own_7' }, /sandboxes_owner/],
    ['an id prefix', { idPrefix: 'sbx_1234' }, /sandboxes_pkey/],
    ['a page of everything', { afterId: 'sbx_5', limit: 100 }, /sandboxes_pkey/],
  ])('finds %s by an index, without reading the table', async (_what, query, index) => {
    const text = await plan(query);
    expect(text).toMatch(index);
    expect(text).not.toMatch(/Seq Scan/);
  });
});
