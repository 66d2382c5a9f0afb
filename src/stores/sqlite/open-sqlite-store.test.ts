import { chmod, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { openSqliteStore } from './index.ts';
import { MIGRATIONS } from './schema.ts';

describe('openSqliteStore', () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-open-'));
    path = join(directory, 'home', 'sublet.db');
  });

  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  it('makes the directory and the file for their user alone', async () => {
    const store = await openSqliteStore({ path });
    await store.installation();
    for (const suffix of ['', '-wal', '-shm']) expect((await stat(path + suffix)).mode & 0o777).toBe(0o600);
    expect((await stat(join(directory, 'home'))).mode & 0o777).toBe(0o700);
    await store.close();
  });

  it('leaves the mode of a directory that is there', async () => {
    await chmod(directory, 0o755);
    const store = await openSqliteStore({ path: join(directory, 'sublet.db') });
    await store.close();
    expect((await stat(directory)).mode & 0o777).toBe(0o755);
  });

  it.runIf(process.platform === 'linux')('gives up where no directory can be made', async () => {
    await expect(openSqliteStore({ path: '/proc/no-such-place/a/sublet.db' })).rejects.toMatchObject({
      code: 'STORE_FAILED',
    });
  });

  it('keeps the log short for processes that open it for a moment', async () => {
    const sizes = await Promise.all(
      [true, false].map(async (isBrief) => {
        const file = join(directory, `${isBrief}.db`);
        const store = await openSqliteStore({ path: file, isBrief });
        for (let round = 0; round < 800; round++)
          await store.addToCounters([{ kind: 'execution', name: 'created', value: 1 }]);
        await store.close();
        return (await stat(`${file}-wal`)).size;
      }),
    );
    expect(sizes[0]).toBeLessThan(220 * 4200);
    expect(sizes[1]).toBeGreaterThan(700 * 4096);
  });

  it('opens a path with characters that mean something in a URL', async () => {
    const odd = join(directory, 'a b?mode=memory#x%41 ü', 'sublet.db');
    const first = await openSqliteStore({ path: odd });
    const id = await first.installation();
    await first.close();
    const second = await openSqliteStore({ path: odd });
    expect(await second.installation()).toBe(id);
    await second.close();
    expect((await stat(odd)).size).toBeGreaterThan(0);
  });

  it('takes an empty file for a new store', async () => {
    const empty = join(directory, 'empty.db');
    await writeFile(empty, '');
    const store = await openSqliteStore({ path: empty });
    expect(await store.installation()).toMatch(/^ins_/);
    await store.close();
  });

  it('makes one installation when many open a new store at once', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => openSqliteStore({ path })));
    const ids = await Promise.all(stores.map((store) => store.installation()));
    expect(new Set(ids).size).toBe(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('refuses a newer schema, naming both versions, and leaves the file as it is', async () => {
    await makeStore(path, 'pragma user_version = 99');
    const before = await readFile(path);
    const error = await refusal(path);
    expect(error.code).toBe('STORE_TOO_NEW');
    expect(error.message).toContain('99');
    expect(error.message).toMatch(new RegExp(`up to ${MIGRATIONS.length}\\b`));
    expect(error.hint).toMatch(/Upgrade Sublet/);
    expect(await readFile(path)).toEqual(before);
  });

  it('reports a file that is no database as damaged, and leaves it as it is', async () => {
    const other = join(directory, 'notes.txt');
    const text = 'These are notes, and somebody wants them back.\n'.repeat(200);
    await writeFile(other, text);
    const error = await refusal(other);
    expect(error.code).toBe('STORE_CORRUPT');
    expect(error.message).toContain(other);
    expect(error.hint).toContain(`mv '${other}'`);
    expect(await readFile(other, 'utf8')).toBe(text);
  });

  it('reports the database of another program as not its own, and leaves it as it is', async () => {
    const other = join(directory, 'other.db');
    const database = new DatabaseSync(other);
    database.exec('create table photos (id integer)');
    database.close();
    const before = await readFile(other);
    const error = await refusal(other);
    expect(error.code).toBe('STORE_CORRUPT');
    expect(error.message).toContain('another program');
    expect(await readFile(other)).toEqual(before);
  });

  it('reports a store that was cut short as damaged, and leaves it as it is', async () => {
    await makeStore(path);
    await truncate(path, 5000);
    const before = await readFile(path);
    const error = await refusal(path);
    expect(error.code).toBe('STORE_CORRUPT');
    expect(await readFile(path)).toEqual(before);
  });

  it('reports damaged pages as damage when it meets them, and leaves the file as it is', async () => {
    await makeStore(path);
    const file = await open(path, 'r+');
    const { size } = await file.stat();
    await file.write(Buffer.alloc(size - 4096, 0x5a), 0, size - 4096, 4096);
    await file.close();
    const before = await readFile(path);
    const error = await refusal(path);
    expect(error.code).toBe('STORE_CORRUPT');
    expect(await readFile(path)).toEqual(before);
  });

  it('reports a store without its tables as damaged', async () => {
    await makeStore(path, 'drop table events');
    expect((await refusal(path)).code).toBe('STORE_CORRUPT');
  });

  it('says what stands in the way when the file cannot be made', async () => {
    await writeFile(join(directory, 'file'), '');
    const underFile = await refusal(join(directory, 'file', 'sublet.db'));
    expect(underFile.code).toBe('STORE_FAILED');
    expect(underFile.message).toContain(join(directory, 'file'));
    expect(underFile.hint).toBeDefined();
    const isDirectory = await refusal(directory);
    expect(isDirectory.code).toBe('STORE_FAILED');
    expect(isDirectory.message).toContain(directory);
  });
});

/** A store whose every row is in the file itself, altered by `sql`. */
async function makeStore(path: string, sql: string = ''): Promise<void> {
  await (await openSqliteStore({ path })).close();
  const database = new DatabaseSync(path);
  database.exec(`${sql}; pragma wal_checkpoint(truncate)`);
  database.close();
}

/** The error of opening the store there, or else of using it. */
async function refusal(path: string): Promise<SubletError> {
  try {
    const store = await openSqliteStore({ path });
    try {
      await store.installation();
      await store.listEvents({});
    } finally {
      await store.close();
    }
  } catch (error) {
    if (SubletError.is(error)) return error;
    throw error;
  }
  throw new Error('The store opened.');
}
