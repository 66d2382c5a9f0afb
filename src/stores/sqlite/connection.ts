/** One connection: cached statements, short transactions, and waiting for other processes without blocking this one. */
import type { Clock } from '../../core/clock.ts';
import { sleep } from '../../core/clock.ts';
import { storeClosed } from '../../store/refusals.ts';
import type { Database, Statement } from './driver.ts';
import { busyStore, isBusy, toStoreError } from './sqlite-errors.ts';

/** Long enough for another process's transaction, short enough not to be felt: it blocks the thread. */
export const BUSY_TIMEOUT_MS = 5;
const GIVE_UP_AFTER_MS = 10_000;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;
const ROWS = /\b(?:sandboxes|sessions)\b/u;

export class Connection {
  readonly path: string;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #statements = new Map<string, Statement>();
  #rowWrites = 0;
  #waiting: Promise<unknown> | undefined;
  #closed = false;

  constructor(path: string, database: Database, clock: Clock) {
    this.path = path;
    this.#database = database;
    this.#clock = clock;
  }

  /** The statement for this text, compiled once. */
  statement(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#counted(sql, this.#database.prepare(sql));
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** Grows with every statement of this connection that may have changed a row of sandboxes or sessions. */
  get rowWrites(): number {
    return this.#rowWrites;
  }

  exec(sql: string): void {
    this.#rowWrites++;
    this.#database.exec(sql);
  }

  /** Runs statements that only read, or a single one that writes. */
  async run<T>(body: () => T): Promise<T> {
    if (this.#closed) throw storeClosed();
    if (this.#waiting !== undefined) return this.#queue(body);
    try {
      return body();
    } catch (cause) {
      if (!isBusy(cause)) throw toStoreError(cause, this.path);
    }
    return this.#queue(body);
  }

  /**
   * Runs `body` in one transaction that holds the write lock from the start; what throws leaves nothing behind.
   * `onCommit` is told at once, with the count of row writes from before.
   */
  transaction<T>(body: () => T, onCommit?: (result: T, writesBefore: number) => void): Promise<T> {
    return this.run(() => {
      const writesBefore = this.#rowWrites;
      const result = this.#inTransaction(body);
      onCommit?.(result, writesBefore);
      return result;
    });
  }

  /**
   * As `transaction`, and on the disk when it resolves: it survives a loss of power, with everything committed before it.
   * For what is rare and must not be undone, because the disk takes milliseconds and the thread waits for it.
   */
  durably<T>(body: () => T): Promise<T> {
    return this.run(() => {
      this.#database.exec('pragma synchronous = full');
      try {
        return this.#inTransaction(body);
      } finally {
        this.#database.exec('pragma synchronous = normal');
      }
    });
  }

  /** Twice is harmless. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#statements.clear();
    this.#database.close();
  }

  // One call at a time asks for the lock: a hundred that wait do not block the thread a hundred times as long.
  #queue<T>(body: () => T): Promise<T> {
    const startedAt = this.#clock.now();
    const turn = (this.#waiting ?? Promise.resolve()).then(() => this.#retry(body, startedAt));
    const settled = turn
      .catch(() => undefined)
      .then(() => {
        if (this.#waiting === settled) this.#waiting = undefined;
      });
    this.#waiting = settled;
    return turn;
  }

  async #retry<T>(body: () => T, startedAt: number): Promise<T> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      if (this.#closed) throw storeClosed();
      try {
        return body();
      } catch (cause) {
        if (!isBusy(cause)) throw toStoreError(cause, this.path);
        const waitedMs = this.#clock.now() - startedAt;
        if (waitedMs >= GIVE_UP_AFTER_MS) throw busyStore(this.path, waitedMs, cause);
      }
      await sleep(this.#clock, pauseMs * (0.5 + Math.random() / 2));
    }
  }

  #counted(sql: string, statement: Statement): Statement {
    if (!ROWS.test(sql)) return statement;
    return {
      get: (...values) => statement.get(...values),
      all: (...values) => statement.all(...values),
      run: (...values) => {
        this.#rowWrites++;
        return statement.run(...values);
      },
    };
  }

  #inTransaction<T>(body: () => T): T {
    this.statement('begin immediate').run();
    try {
      const result = body();
      this.statement('commit').run();
      return result;
    } catch (cause) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      throw cause;
    }
  }
}
