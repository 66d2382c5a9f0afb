/** The part of the `node:sqlite` interface that the store uses, and its late loading. */
import { SubletError } from '../../core/errors.ts';

export type SqlValue = string | number | null;
export type Row = readonly SqlValue[];

export interface Statement {
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint };
  get(...values: readonly SqlValue[]): Row | undefined;
  all(...values: readonly SqlValue[]): readonly Row[];
}

export interface Database {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  /** Rows come as arrays, in the order of the selected columns: a third faster than objects. */
  prepare(sql: string): Statement;
  close(): void;
}

/** Opens a file that exists. `busyTimeoutMs` blocks the thread, so it is short. */
export async function openDatabase(url: string, busyTimeoutMs: number): Promise<Database> {
  const { DatabaseSync } = await import('@photostructure/sqlite').catch((cause: unknown) => {
    throw notInstalledError(cause);
  });
  const database = new DatabaseSync(url, { timeout: busyTimeoutMs });
  return {
    get isTransaction() {
      return database.isTransaction;
    },
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    },
    close: () => database.close(),
  };
}

/** Nothing is wrong with the file: what reads it is missing, or made for another machine. */
function notInstalledError(cause: unknown): SubletError {
  const [why] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
  return new SubletError('STORE_FAILED', `SQLite did not load: ${why}.`, {
    cause,
    hint: 'Install the packages again, on the machine that runs them: npm ci in a clone, npm install sublet elsewhere.',
  });
}
