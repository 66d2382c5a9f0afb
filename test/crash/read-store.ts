/** What is on record, whichever store it is in. */
import path from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { openPostgresStore } from 'sublet/stores/postgres';
import { openSqliteStore } from 'sublet/stores/sqlite';

type Store = Awaited<ReturnType<typeof openSqliteStore>>;
export type Row = Awaited<ReturnType<Store['findSandboxes']>>[number];

export interface Recorded {
  readonly rows: readonly Row[];
  readonly owners: readonly string[];
  /** `ok`, or what is wrong with the file. A server's data cannot be harmed by the death of a client. */
  readonly integrity: string;
}

export interface Where {
  readonly home: string;
  /** A server's address; undefined for the file in the home. */
  readonly store?: string | undefined;
}

export async function readStore({ home, store: url }: Where): Promise<Recorded> {
  const file = path.join(home, 'sublet.db');
  const store = url === undefined ? await openSqliteStore({ path: file }) : await openPostgresStore({ url });
  try {
    const rows = await store.findSandboxes({ limit: 1_000_000 });
    const owners = (await store.listOwners()).map(({ id }) => id);
    return { rows, owners, integrity: url === undefined ? integrityOf(file) : 'ok' };
  } finally {
    await store.close();
  }
}

function integrityOf(file: string): string {
  const database = new DatabaseSync(file);
  try {
    return String(Object.values(database.prepare('pragma integrity_check').get() as object)[0]);
  } finally {
    database.close();
  }
}
