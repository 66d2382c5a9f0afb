/**
 * Reads and transactions over a pool, repeated when that is safe. Nothing is bound to one connection: a server that
 * restarts, a connection that breaks, a lock that is held cost time, until the call gives up.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as timeout } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { sleep } from '../../core/clock.ts';
import type { SubletError } from '../../core/errors.ts';
import { storeClosed } from '../../store/refusals.ts';
import type { Db } from './driver.ts';
import type { Pool } from './pool.ts';
import { busyStore, isStarting, toStoreError, troubleOf, unknownOutcome } from './postgres-errors.ts';
import { beginMarked, rollBack, transact } from './transact.ts';
import { Turns } from './turns.ts';

const GIVE_UP_AFTER_MS = 15_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 500;
const CLOSE_WITHIN_MS = 5000;

export class Connections {
  /** How the store is named to the user. */
  readonly where: string;
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #turns: Turns;
  readonly #underWay = new Set<Promise<unknown>>();
  #hasAnswered = false;
  #closing: Promise<void> | undefined;

  constructor(where: string, pool: Pool, maxConnections: number, clock: Clock) {
    this.where = where;
    this.#pool = pool;
    this.#turns = new Turns(maxConnections);
    this.#clock = clock;
  }

  /** Runs statements that only read. */
  read<T>(body: (db: Db) => Promise<T>): Promise<T> {
    return this.#retry(body);
  }

  /**
   * Runs `body` in one transaction; what throws leaves nothing behind. It may run more than once, each time from the
   * start, but is committed once: it leaves a mark, by which a later try knows that an earlier one was committed
   * although the answer was lost.
   */
  async transaction<T>(body: (db: Db) => Promise<T>): Promise<T> {
    const mark = randomUUID();
    let sent: { readonly result: T } | undefined;
    try {
      return await this.#retry(async (db) => {
        const isFirst = await beginMarked(db, mark);
        if (!isFirst && sent !== undefined) {
          await rollBack(db);
          return sent.result;
        }
        sent = undefined;
        return transact(db, body, (result) => (sent = { result }));
      });
    } catch (cause) {
      throw sent === undefined ? cause : unknownOutcome(this.where, cause);
    }
  }

  /** As `transaction`, for what may be committed twice. Needs no table. */
  repeatable<T>(body: (db: Db) => Promise<T>): Promise<T> {
    return this.#retry(async (db) => {
      await db.script('begin');
      return transact(db, body);
    });
  }

  /** Twice is harmless. What is under way may finish. */
  close(): Promise<void> {
    this.#closing ??= this.#endInTime();
    return this.#closing;
  }

  // The timer also keeps the process until the end, which connections that nobody uses do not.
  async #endInTime(): Promise<void> {
    const ended = new AbortController();
    const late = timeout(CLOSE_WITHIN_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    await Promise.race([this.#end().finally(() => ended.abort()), late]);
  }

  async #end(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    await this.#pool.end();
  }

  async #retry<T>(attempt: (db: Db) => Promise<T>): Promise<T> {
    const startedAt = this.#clock.elapsed();
    const isLate = (): boolean => this.#clock.elapsed() - startedAt >= GIVE_UP_AFTER_MS;
    let failure: unknown;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await this.#turns.take(() => this.#once(attempt, isLate));
      } catch (cause) {
        if (!(cause instanceof WaitedTooLong)) failure = cause;
        if (failure !== undefined && !this.#isWorthAnotherTry(failure)) throw toStoreError(failure, this.where);
        if (isLate()) throw this.#gaveUp(failure, this.#clock.elapsed() - startedAt);
      }
      await sleep(this.#clock, pauseMs * (0.5 + Math.random() / 2));
    }
  }

  #gaveUp(failure: unknown, waitedMs: number): SubletError {
    return troubleOf(failure) === 'lost' ? toStoreError(failure, this.where) : busyStore(this.where, waitedMs, failure);
  }

  // Until it has answered once, a server that does not is more likely a wrong address than one that restarts.
  #isWorthAnotherTry(failure: unknown): boolean {
    const trouble = troubleOf(failure);
    return trouble === 'busy' || (trouble === 'lost' && (this.#hasAnswered || isStarting(failure)));
  }

  async #once<T>(attempt: (db: Db) => Promise<T>, isLate: () => boolean): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed();
    // Whoever waited behind a server that is gone does not wait for it a second time.
    if (isLate()) throw new WaitedTooLong();
    const work = this.#onConnection(attempt);
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  async #onConnection<T>(attempt: (db: Db) => Promise<T>): Promise<T> {
    const connection = await this.#pool.borrow();
    this.#hasAnswered = true;
    let state: 'clean' | 'unknown' = 'unknown';
    try {
      const result = await attempt(connection);
      state = 'clean';
      return result;
    } catch (cause) {
      if (troubleOf(cause) !== 'lost') state = 'clean';
      throw cause;
    } finally {
      this.#pool.giveBack(connection, state);
    }
  }
}

/** Its turn came after it had given up. */
class WaitedTooLong extends Error {}
