/** Takes from pools on SQLite. Those that are asked for at the same instant share one transaction: a commit costs more than all the rest. */
import type { SandboxId } from '../../core/ids.ts';
import { leasedEvents } from '../../store/changes.ts';
import { IDLE_STATES, chosen, isTakeable, takenSandbox } from '../../store/pool-changes.ts';
import type { TakeWish } from '../../store/pools.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Connection } from './connection.ts';
import type { SessionCache } from './session-cache.ts';
import { insertEvent } from './tables/events.ts';
import { countAhead, deleteTicket, selectIdle, selectOwnIdle } from './tables/pools.ts';
import { selectSandbox, updateSandbox } from './tables/sandboxes.ts';

interface Taker {
  readonly wish: TakeWish;
  readonly resolve: (taken: SandboxRecord | undefined) => void;
  readonly reject: (cause: unknown) => void;
}

/** So many of the oldest are looked at: some may be too old by now. */
const NEARBY = 4;

export class Takers {
  readonly #db: Connection;
  readonly #sessions: SessionCache;
  #waiting: Taker[] = [];

  constructor(db: Connection, sessions: SessionCache) {
    this.#db = db;
    this.#sessions = sessions;
  }

  take(wish: TakeWish): Promise<SandboxRecord | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ wish, resolve, reject });
      if (this.#waiting.length === 1) queueMicrotask(() => void this.#serve());
    });
  }

  async #serve(): Promise<void> {
    const takers = this.#waiting;
    this.#waiting = [];
    try {
      const taken = await this.#db.transaction(
        () =>
          takeAll(
            this.#db,
            takers.map(({ wish }) => wish),
          ),
        (_, writes) => this.#sessions.changed(writes, []),
      );
      for (const [index, { resolve }] of takers.entries()) resolve(taken[index]);
    } catch (cause) {
      for (const { reject } of takers) reject(cause);
    }
  }
}

function takeAll(db: Connection, wishes: readonly TakeWish[]): readonly (SandboxRecord | undefined)[] {
  const found = new Map<string, SandboxRecord[]>();
  const gone = new Set<SandboxId>();
  return wishes.map((wish) => {
    const before = nextOwn(db, wish, found, gone, wishes.length) ?? pick(db, wish);
    const after = before && takenSandbox(before, wish);
    if (before === undefined || after === undefined) return undefined;
    updateSandbox(db, before, after);
    gone.add(after.id);
    if (wish.ticket !== undefined) deleteTicket(db, wish.ticket);
    for (const event of leasedEvents(before, after, wish.at)) insertEvent(db, event);
    return after;
  });
}

/** One of the taker's own that runs, where nobody is ahead. They are read together for all who want the same. */
function nextOwn(
  db: Connection,
  wish: TakeWish,
  found: Map<string, SandboxRecord[]>,
  gone: ReadonlySet<SandboxId>,
  count: number,
): SandboxRecord | undefined {
  const key = JSON.stringify([wish.pool, wish.lane, wish.network, wish.ownerId, wish.ticket]);
  let rows = found.get(key);
  if (rows === undefined) {
    rows = countAhead(db, wish) === 0 ? [...selectOwnIdle(db, wish, 'running', count + NEARBY)] : [];
    found.set(key, rows);
  }
  for (let row = rows.shift(); row !== undefined; row = rows.shift())
    if (!gone.has(row.id) && isTakeable(row, wish)) return row;
  return undefined;
}

function pick(db: Connection, wish: TakeWish): SandboxRecord | undefined {
  const ahead = countAhead(db, wish);
  const takeable: SandboxRecord[] = [];
  for (const state of IDLE_STATES) {
    const own = ahead === 0 ? selectOwnIdle(db, wish, state, NEARBY).find((row) => isTakeable(row, wish)) : undefined;
    if (own !== undefined) return own;
    for (const id of selectIdle(db, wish, state, ahead + NEARBY)) {
      const record = fit(db, wish, id);
      if (record !== undefined) takeable.push(record);
      if (takeable.length > ahead) return chosen(takeable, ahead, wish.ownerId);
    }
  }
  return undefined;
}

function fit(db: Connection, wish: TakeWish, id: SandboxId): SandboxRecord | undefined {
  const record = selectSandbox(db, id);
  return record !== undefined && isTakeable(record, wish) ? record : undefined;
}
