/** The Postgres server that all test files share, and a database of one's own in it. */
import pg from 'pg';
import { inject } from 'vitest';
import type { SharedPostgres } from './postgres-keeper.ts';
import { PASSWORD, USER } from './postgres-server.ts';

export interface TestDatabase {
  readonly url: string;
  /** As the superuser of the server, on this database. */
  query(sql: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** Without a row of Sublet's, as after the first opening. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

// Deleted, not truncated: that makes new files, which takes longer than the rest of a test.
const EMPTY = `do $$ declare name text; begin
  for name in select tablename from pg_tables
    where schemaname = 'sublet' and tablename not in ('migrations', 'installation')
  loop execute format('delete from sublet.%I', name); end loop;
end $$`;

let asked: Promise<SharedPostgres> | undefined;

export function sharedPostgres(): Promise<SharedPostgres> {
  asked ??= fetch(inject('postgresKeeper')).then((response) => response.json() as Promise<SharedPostgres>);
  return asked;
}

/** A database that nobody else uses. */
export async function createDatabase(): Promise<TestDatabase> {
  const server = await sharedPostgres();
  if ('reason' in server) throw new Error(server.reason);
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  const urlOf = (database: string): string =>
    `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${server.port}/${database}`;
  await once(urlOf('postgres'), `create database ${name}`);
  const client = new pg.Client(urlOf(name));
  await client.connect();
  return {
    url: urlOf(name),
    query: async (sql, values = []) => (await client.query<Record<string, unknown>>(sql, [...values])).rows,
    empty: async () => {
      await client.query(EMPTY);
    },
    drop: async () => {
      await client.end();
      await once(urlOf('postgres'), `drop database ${name} with (force)`);
    },
  };
}

async function once(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(sql);
  await client.end();
}
