/** The `counters` table. Each function is one statement. */
import type { SandboxKind } from '../../../core/session-key.ts';
import type { Counter } from '../../../store/records.ts';
import type { CounterRow } from '../../../store/store.ts';
import type { Connection } from '../connection.ts';

const ADD = `insert into counters (kind, name, value) values (?, ?, ?)
  on conflict (kind, name) do update set value = value + excluded.value`;

const LIST = 'select kind, name, value from counters';

export function addToCounter(connection: Connection, { kind, name, value }: CounterRow): void {
  connection.statement(ADD).run(kind, name, value);
}

export function selectCounters(connection: Connection): readonly CounterRow[] {
  return connection
    .statement(LIST)
    .all()
    .map(([kind, name, value]) => ({ kind: kind as SandboxKind, name: name as Counter, value: value as number }));
}
