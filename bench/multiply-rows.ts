/** Thousands of sessions from a few: copies of every session and its sandbox, made by SQLite itself. */
import type { withDatabase } from './raw-sqlite.ts';

type Database = Parameters<Parameters<typeof withDatabase>[1]>[0];

/** Afterwards there are `times` as many. */
export function multiplySessions(database: Database, times: number): void {
  database.exec('begin immediate');
  copyRows(database, 'sandboxes', ['id', 'name', 'session_key'], times);
  copyRows(database, 'sessions', ['key', 'sandbox_id'], times);
  database.exec('commit');
}

/** Each copy has its number behind the columns that are its own. */
function copyRows(database: Database, table: string, own: readonly string[], times: number): void {
  const columns = database
    .prepare(`select name from pragma_table_info('${table}')`)
    .all()
    .map((row) => String((row as { readonly name: string }).name));
  const values = columns.map((column) => (own.includes(column) ? `${column} || '-' || copy` : column));
  database.exec(`
    with recursive copies(copy) as (select 1 union all select copy + 1 from copies where copy < ${times - 1})
    insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${table} cross join copies`);
}
