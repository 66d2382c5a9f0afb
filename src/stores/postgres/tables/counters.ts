/** The `counters` table. Each function is one statement. */
import type { SandboxKind } from '../../../core/session-key.ts';
import type { Counter } from '../../../store/records.ts';
import type { CounterRow } from '../../../store/store.ts';
import type { Db } from '../driver.ts';

// In one order for everybody, so that two who add to the same counters do not wait for each other.
const ADD = `insert into sublet.counters (kind, name, value)
  select kind, name, sum(value) from unnest($1::text[], $2::text[], $3::bigint[]) as added (kind, name, value)
  group by kind, name order by kind, name
  on conflict (kind, name) do update set value = counters.value + excluded.value`;

const LIST = 'select kind, name, value from sublet.counters';

export async function addToCounters(db: Db, rows: readonly CounterRow[]): Promise<void> {
  await db.change(ADD, [rows.map(({ kind }) => kind), rows.map(({ name }) => name), rows.map(({ value }) => value)]);
}

export async function selectCounters(db: Db): Promise<readonly CounterRow[]> {
  const rows = await db.rows(LIST);
  return rows.map(([kind, name, value]) => ({
    kind: kind as SandboxKind,
    name: name as Counter,
    value: Number(value),
  }));
}
