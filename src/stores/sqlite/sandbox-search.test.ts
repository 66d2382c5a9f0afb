import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { LIVE_STATES } from '../../core/states.ts';
import type { SandboxQuery } from '../../store/store.ts';
import { firstFloor } from './migrations/0001-first-floor.ts';
import { sandboxCount, sandboxSearch } from './sandbox-search.ts';
import type { Search } from './sandbox-search.ts';

describe('sandboxSearch', () => {
  const database = new DatabaseSync(':memory:');
  database.exec(firstFloor.sql);
  afterAll(() => database.close());

  function plan({ sql, values }: Search): string {
    const rows = database.prepare(`explain query plan ${sql}`).all(...values);
    return rows.map((row: { detail: string }) => row.detail).join('\n');
  }

  const planFor = (query: SandboxQuery): string => plan(sandboxSearch(query, 'id, created_at'));

  it.each<[string, SandboxQuery]>([
    ['all', { dueBy: 5 }],
    ['some states', { dueBy: 5, states: LIVE_STATES }],
    ['a provider and an owner', { dueBy: 5, provider: 'docker', ownerId: 'own_a' }],
  ])('reads only what is due, already in order, for %s', (_what, query) => {
    expect(planFor(query)).toBe('SEARCH sandboxes USING INDEX sandboxes_due (due_at<?)');
  });

  it('reads only what is due for a page of it', () => {
    expect(planFor({ dueBy: 5, afterId: '' })).toMatch(/^SEARCH sandboxes USING INDEX sandboxes_due \(due_at<\?\)/);
  });

  it.each<[string, SandboxQuery]>([
    ['everything', {}],
    ['live states', { states: LIVE_STATES }],
    ['one state of one provider', { states: ['running'], provider: 'docker', ephemeral: false }],
  ])('reads the newest of %s without scanning or sorting the table', (_what, query) => {
    expect(planFor(query)).toMatch(/SEARCH sandboxes USING (COVERING )?INDEX sandboxes_state \(state=\?\)/);
    expect(planFor(query)).not.toMatch(/SCAN sandboxes|TEMP B-TREE/);
  });

  it.each<[string, SandboxQuery, RegExp]>([
    ['a session', { sessionKey: 'app:u:t' }, /INDEX sandboxes_session \(session_key=\?\)/],
    ['an owner', { ownerId: 'own_a' }, /INDEX sandboxes_owner \(owner_id=\?\)/],
    ['an id prefix', { idPrefix: 'sbx_ab' }, /INDEX sqlite_autoindex_sandboxes_1 \(id>\? AND id<\?\)/],
  ])('finds the sandboxes of %s by its index', (_what, query, index) => {
    expect(planFor(query)).toMatch(index);
  });

  it('counts from the index alone', () => {
    expect(plan(sandboxCount({ states: LIVE_STATES }))).toMatch(/COVERING INDEX sandboxes_state \(state=\?\)/);
  });
});
