/** Brings the schema `sublet` up to date, once however many processes open it at the same time. */
import { newId } from '../../core/ids.ts';
import type { Migration } from '../../store/migrations.ts';
import { pendingMigrations } from '../../store/migrations.ts';
import type { Connections } from './connections.ts';
import type { Db } from './driver.ts';
import { firstFloor } from './migrations/0001-first-floor.ts';
import { snapshots } from './migrations/0002-snapshots.ts';
import { heirs } from './migrations/0003-heirs.ts';
import { pools } from './migrations/0004-pools.ts';
import { gaps } from './migrations/0005-gaps.ts';
import { strangeStore } from './postgres-errors.ts';

export const MIGRATIONS: readonly Migration[] = [firstFloor, snapshots, heirs, pools, gaps];

/** Whose migration this is, among all users of advisory locks in the database. "Subl" in ASCII. */
const MIGRATION_LOCK = 0x5375626c;

/** The oldest that its makers still mend. */
const OLDEST_SERVER = 140_000;

// Reads the catalogue's tables, because functions such as to_regclass remember what was not there until the transaction
// ends, and another process may have made it while this one waited for the lock.
const LOOK = `select
  current_setting('server_version_num')::int, current_setting('server_encoding'),
  exists (select 1 from pg_namespace where nspname = 'sublet'),
  exists (select 1 from pg_tables where schemaname = 'sublet' and tablename = 'migrations')`;

export async function prepareSchema(
  connections: Connections,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const { where } = connections;
  const pending = await connections.read(async (db) => {
    await checkServer(db, where);
    return pendingIn(db, migrations, where);
  });
  if (pending.length > 0) await connections.repeatable((db) => migrate(db, migrations, where));
}

// Asked again under the lock: another process may have migrated in the meantime.
async function migrate(db: Db, migrations: readonly Migration[], where: string): Promise<void> {
  await db.rows('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
  const { hasSchema, hasMigrations } = await look(db);
  // Not "if not exists", which asks for the right to create even where nothing is created.
  if (!hasSchema) await db.script('create schema sublet');
  if (!hasMigrations) await createMigrations(db);
  for (const { version, name, sql } of await pendingIn(db, migrations, where)) {
    await db.script(sql);
    await db.change('insert into sublet.migrations (version, name) values ($1, $2)', [version, name]);
  }
  if (!hasMigrations) await db.change('insert into sublet.installation (id) values ($1)', [newId('ins')]);
}

function createMigrations(db: Db): Promise<unknown> {
  return db.script(`create table sublet.migrations (
    version    integer primary key,
    name       text not null,
    applied_at timestamptz not null default now()
  )`);
}

async function pendingIn(db: Db, migrations: readonly Migration[], where: string): Promise<readonly Migration[]> {
  const { hasMigrations } = await look(db);
  const [row] = hasMigrations ? await db.rows('select max(version) from sublet.migrations') : [];
  return pendingMigrations(migrations, Number(row?.[0] ?? 0), `The store ${where}`);
}

async function checkServer(db: Db, where: string): Promise<void> {
  const { version, encoding } = await look(db);
  if (version < OLDEST_SERVER) {
    throw strangeStore(where, `its server is older than Postgres ${OLDEST_SERVER / 10_000}`, 'Use a newer server.');
  }
  if (encoding !== 'UTF8') {
    throw strangeStore(where, `its encoding is ${encoding}`, "Make the database with encoding 'UTF8'.");
  }
}

interface Look {
  readonly version: number;
  readonly encoding: string;
  readonly hasSchema: boolean;
  readonly hasMigrations: boolean;
}

async function look(db: Db): Promise<Look> {
  const [[version, encoding, hasSchema, hasMigrations] = []] = await db.rows(LOOK);
  return {
    version: version as number,
    encoding: encoding as string,
    hasSchema: hasSchema as boolean,
    hasMigrations: hasMigrations as boolean,
  };
}
