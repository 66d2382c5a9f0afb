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

/** Together they keep the thread for a millisecond or two. */
const MOST_TOGETHER = 32;

/** The count of row writes before and after those of one transaction. */
export interface Writes {
  readonly before: number;
  readonly after: number;
}

type Outcome<T> = { readonly result: T; readonly writes: Writes } | { readonly error: Error };

interface Waiting {
  readonly body: () => unknown;
  readonly settle: (outcome: Outcome<unknown>) => void;
  readonly reject: (cause: Error) => void;
}

export class Connection {
  readonly path: string;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #statements = new Map<string, Statement>();
  #rowWrites = 0;
  #waiting: Promise<unknown> | undefined;
  #together: Waiting[] = [];
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
    // In the order asked: what was to be written before it is.
    this.#writeTogether();
    return this.#run(body);
  }

  async #run<T>(body: () => T): Promise<T> {
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
   * Runs `body` in a transaction that holds the write lock from the start; what throws leaves nothing behind. Those that are
   * asked for in one turn are committed together, because a commit costs more than what is in it. `onCommit` is told at once.
   */
  transaction<T>(body: () => T, onCommit?: (result: T, writes: Writes) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const settle = (outcome: Outcome<T>): void => {
        if ('error' in outcome) {
          reject(outcome.error);
          return;
        }
        onCommit?.(outcome.result, outcome.writes);
        resolve(outcome.result);
      };
      this.#together.push({ body, settle: settle as Waiting['settle'], reject });
      if (this.#together.length === 1) queueMicrotask(() => this.#writeTogether());
      else if (this.#together.length >= MOST_TOGETHER) this.#writeTogether();
    });
  }

  #writeTogether(): void {
    if (this.#together.length === 0) return;
    const waiting = this.#together;
    this.#together = [];
    this.#run(() => {
      const outcomes = this.#inTransaction(() => waiting.map(({ body }) => this.#one(body, waiting.length > 1)));
      for (const [index, { settle }] of waiting.entries()) settle(outcomes[index] as Outcome<unknown>);
    }).catch((cause: unknown) => {
      for (const { reject } of waiting) reject(cause as Error);
    });
  }

  /** One of several: what throws takes nothing of the others with it. */
  #one<T>(body: () => T, isOneOfSeveral: boolean): Outcome<T> {
    const before = this.#rowWrites;
    if (!isOneOfSeveral) return { result: body(), writes: { before, after: this.#rowWrites } };
    this.statement('savepoint one').run();
    try {
      const result = body();
      this.statement('release one').run();
      return { result, writes: { before, after: this.#rowWrites } };
    } catch (cause) {
      // What ends the whole transaction, as a full disk does, fails all of them.
      if (!this.#database.isTransaction) throw cause;
      this.#database.exec('rollback to one; release one');
      return { error: toStoreError(cause, this.path) };
    }
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
    this.#writeTogether();
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
