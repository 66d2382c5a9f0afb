/** Brings the file's schema up to date, once however many processes open it at the same time. */
import { stat } from 'node:fs/promises';
import { newId } from '../../core/ids.ts';
import type { Migration } from '../../store/migrations.ts';
import { pendingMigrations } from '../../store/migrations.ts';
import type { Connection } from './connection.ts';
import { firstFloor } from './migrations/0001-first-floor.ts';
import { nothingLeaks } from './migrations/0002-nothing-leaks.ts';
import { snapshots } from './migrations/0003-snapshots.ts';
import { heirs } from './migrations/0004-heirs.ts';
import { pools } from './migrations/0005-pools.ts';
import { gaps } from './migrations/0006-gaps.ts';
import { corruptStore } from './sqlite-errors.ts';

export const MIGRATIONS: readonly Migration[] = [firstFloor, nothingLeaks, snapshots, heirs, pools, gaps];

/** Written into the file's header: tells our store from another program's database. "Subl" in ASCII. */
const APPLICATION_ID = 0x5375626c;

export async function prepareSchema(
  connection: Connection,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const isPending = await connection.run(() => pendingIn(connection, migrations).length > 0);
  if (!isPending) return;
  await refuseStub(connection);
  // Kept in the file, and only changeable outside a transaction.
  await connection.run(() => connection.exec('pragma journal_mode = wal'));
  // The installation's id is the label by which everything that it makes is found again: it is never to be made twice.
  await connection.durably(() => migrate(connection, migrations));
  // Into the file itself, so that a copy of that alone, or one whose log was lost, is still this installation's.
  await connection.run(() => connection.exec('pragma wal_checkpoint(truncate)'));
}

// SQLite takes a file that ends before its first page for a new one, and would write over what is left of it.
async function refuseStub(connection: Connection): Promise<void> {
  // The size first: another process may be making the first page just now.
  const { size } = await stat(connection.path);
  const isStub = await connection.run(() => size > 0 && connection.statement('pragma page_count').get()?.[0] === 0);
  if (isStub) throw corruptStore(connection.path, 'it ends before its first page');
}

// Asked again under the lock: another process may have migrated in the meantime.
function migrate(connection: Connection, migrations: readonly Migration[]): void {
  const isNew = schemaVersion(connection) === 0;
  for (const migration of pendingIn(connection, migrations)) {
    connection.exec(migration.sql);
    connection.exec(`pragma user_version = ${migration.version}`);
  }
  if (!isNew) return;
  connection.exec(`pragma application_id = ${APPLICATION_ID}`);
  connection.statement('insert into installation (id) values (?)').run(newId('ins'));
}

function pendingIn(connection: Connection, migrations: readonly Migration[]): readonly Migration[] {
  const version = schemaVersion(connection);
  if (!isOurs(connection, version)) {
    throw corruptStore(connection.path, 'it is a database of another program');
  }
  return pendingMigrations(migrations, version, `The store ${connection.path}`);
}

function schemaVersion(connection: Connection): number {
  return Number(connection.statement('pragma user_version').get()?.[0]);
}

// An empty file is nobody's yet.
function isOurs(connection: Connection, version: number): boolean {
  if (connection.statement('pragma application_id').get()?.[0] === APPLICATION_ID) return true;
  return version === 0 && connection.statement('select 1 from sqlite_schema').get() === undefined;
}
