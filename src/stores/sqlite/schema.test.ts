import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../core/clock.ts';
import type { Migration } from '../../store/migrations.ts';
import { Connection } from './connection.ts';
import { openDatabase } from './driver.ts';
import { firstFloor } from './migrations/0001-first-floor.ts';
import { prepareSchema } from './schema.ts';

const SECOND: Migration = { version: 2, name: 'second', sql: 'create table second (a text) strict' };

const noClock: Clock = {
  now: () => 0,
  elapsed: () => 0,
  schedule: (_ms, callback) => {
    setImmediate(callback);
    return () => undefined;
  },
};

describe('prepareSchema', () => {
  let directory: string;
  let connections: Connection[];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-schema-'));
    await writeFile(join(directory, 'x.db'), '');
    connections = [];
  });

  afterEach(async () => {
    for (const connection of connections) connection.close();
    await rm(directory, { recursive: true });
  });

  async function connect(): Promise<Connection> {
    const path = join(directory, 'x.db');
    const connection = new Connection(path, await openDatabase(pathToFileURL(path).href, 5), noClock);
    connections.push(connection);
    return connection;
  }

  const version = (connection: Connection): unknown => connection.statement('pragma user_version').get()?.[0];

  it('brings an older store forward and keeps its rows', async () => {
    const old = await connect();
    await prepareSchema(old, [firstFloor]);
    const installation = old.statement('select id from installation').get();
    const next = await connect();
    await prepareSchema(next, [firstFloor, SECOND]);
    expect(version(next)).toBe(2);
    expect(next.statement('select count(*) from second').get()).toEqual([0]);
    expect(next.statement('select id from installation').all()).toEqual([installation]);
  });

  it('migrates once when several connections try at the same time', async () => {
    const all = await Promise.all([connect(), connect(), connect()]);
    await Promise.all(all.map((connection) => prepareSchema(connection, [firstFloor, SECOND])));
    for (const connection of all) expect(version(connection)).toBe(2);
    expect(all[0]?.statement('select count(*) from installation').get()).toEqual([1]);
  });

  it('leaves the store as it was when a migration fails', async () => {
    const connection = await connect();
    const broken: Migration = { version: 2, name: 'broken', sql: 'create table half (a text); create nonsense' };
    await prepareSchema(connection, [firstFloor]);
    await expect(prepareSchema(connection, [firstFloor, broken])).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(version(connection)).toBe(1);
    expect(connection.statement(`select count(*) from sqlite_schema where name = 'half'`).get()).toEqual([0]);
  });

  it('writes in WAL mode', async () => {
    const connection = await connect();
    await prepareSchema(connection);
    expect(connection.statement('pragma journal_mode').get()).toEqual(['wal']);
  });
});
