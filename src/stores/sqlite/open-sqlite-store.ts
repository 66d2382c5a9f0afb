/** Opens the SQLite store at a path, and makes it on first use: readable by its user alone. */
import { randomUUID } from 'node:crypto';
import { link, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Clock } from '../../core/clock.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { Store } from '../../store/store.ts';
import { BUSY_TIMEOUT_MS, Connection } from './connection.ts';
import type { Database } from './driver.ts';
import { openDatabase } from './driver.ts';
import { prepareSchema } from './schema.ts';
import { isCannotOpen, toStoreError } from './sqlite-errors.ts';
import { SqliteStore } from './sqlite-store.ts';

export interface SqliteStoreOptions {
  readonly path: string;
  /** Times the waiting for other processes. */
  readonly clock?: Clock | undefined;
  /** This process is one of many that open the store for a moment. Each reads all of the log, so it is kept short. */
  readonly isBrief?: boolean | undefined;
}

/** Pages in the log before they are brought into the file, by a commit that then waits for the disk. SQLite's own is 1,000. */
const BRIEF_LOG_PAGES = 200;

export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const path = resolve(options.path);
  const connection = new Connection(path, await openFile(path), options.clock ?? systemClock);
  try {
    // Up to 64 MiB of pages stay in memory: a session's row is read at every use, however many sessions there are.
    const log = options.isBrief === true ? `; pragma wal_autocheckpoint = ${BRIEF_LOG_PAGES}` : '';
    await connection.run(() => connection.exec(`pragma synchronous = normal; pragma cache_size = -65536${log}`));
    await prepareSchema(connection);
    return new SqliteStore(connection);
  } catch (cause) {
    connection.close();
    throw cause;
  }
}

// A file that is there, as on almost every start, costs no file operation of ours.
async function openFile(path: string): Promise<Database> {
  try {
    return await openExisting(path).catch(async (cause: unknown) => {
      if (!isCannotOpen(cause)) throw cause;
      await createFile(path);
      return openExisting(path);
    });
  } catch (cause) {
    throw toStoreError(cause, path);
  }
}

// As a URL, because only that form can say "never create": SQLite would make the file readable by everyone.
function openExisting(path: string): Promise<Database> {
  return openDatabase(`${fileUrl(path)}?mode=rw`, BUSY_TIMEOUT_MS);
}

// Written out where a path is nearly a URL already: Node's own way takes a millisecond to load.
function fileUrl(path: string): string {
  return sep === '/' ? `file://${path.replace(/[%?#]/g, encodeURIComponent)}` : pathToFileURL(path).href;
}

// Made under another name and linked, because closing a descriptor of a file drops every lock that this process holds
// on it, and SQLite in this process may have opened the file the moment it has its name.
async function createFile(path: string): Promise<void> {
  await makeDirectories(dirname(path));
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, '', { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
  } finally {
    await rm(draft);
  }
}

// One at a time: Node's own way to make all of them tries for ever where none can be made, as below /proc.
async function makeDirectories(dir: string, isLastTry = false): Promise<void> {
  try {
    await mkdir(dir, { mode: 0o700 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || isLastTry || dirname(dir) === dir) throw cause;
    await makeDirectories(dirname(dir));
    await makeDirectories(dir, true);
  }
}
