/** One try at a transaction, on one connection. */
import type { Db } from './driver.ts';
import { troubleOf } from './postgres-errors.ts';

// In the transaction and not in the connection's start, because poolers refuse start-up settings they do not know. The
// server ends a transaction whose process was stopped in the middle, and with it the locks.
const BEGIN = `begin isolation level read committed read write;
  set local lock_timeout = '3s';
  set local statement_timeout = '10s';
  set local idle_in_transaction_session_timeout = '10s'`;

/**
 * Begins a transaction that is committed together with its mark. False when one with this mark was committed before: while
 * that is not decided, it waits. The server's own transaction numbers would not do, because those that were not written to
 * disk are given again after a crash.
 */
export async function beginMarked(db: Db, mark: string): Promise<boolean> {
  try {
    const rows = await db.script(
      `${BEGIN}; insert into sublet.commits (mark) values ('${mark}') on conflict do nothing returning true`,
    );
    return rows.length === 1;
  } catch (cause) {
    if (troubleOf(cause) !== 'lost') await rollBack(db);
    throw cause;
  }
}

/** Runs `body` and commits what it changed. `onSent` is told its result before the server is asked to commit. */
export async function transact<T>(
  db: Db,
  body: (db: Db) => Promise<T>,
  onSent: (result: T) => void = () => {},
): Promise<T> {
  const watched = watchChanges(db);
  let result: T;
  try {
    result = await body(watched);
  } catch (cause) {
    if (troubleOf(cause) !== 'lost') await rollBack(db);
    throw cause;
  }
  if (watched.hasChanged) {
    onSent(result);
    await db.script('commit');
  } else await rollBack(db);
  return result;
}

export async function rollBack(db: Db): Promise<void> {
  await db.script('rollback');
}

// What has only looked has nothing to commit, and leaves no mark.
function watchChanges(db: Db): Db & { readonly hasChanged: boolean } {
  let hasChanged = false;
  return {
    get hasChanged() {
      return hasChanged;
    },
    rows: (sql, values) => db.rows(sql, values),
    change: async (sql, values) => {
      const count = await db.change(sql, values);
      hasChanged ||= count > 0;
      return count;
    },
    script: async (sql) => {
      hasChanged = true;
      return db.script(sql);
    },
  };
}
