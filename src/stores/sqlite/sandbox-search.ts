/** The search over sandboxes as SQL: which index serves it is decided here, not by the planner's guess. */
import { SANDBOX_STATES } from '../../core/states.ts';
import type { SandboxQuery } from '../../store/store.ts';
import { DEFAULT_LIMIT } from '../../store/store.ts';
import type { SqlValue } from './driver.ts';

export interface Search {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Sorts after every text that begins with the prefix before it. */
const AFTER_ALL = '\u{10FFFF}';

export function sandboxSearch(query: SandboxQuery, columns: string): Search {
  if (query.states?.length === 0) return { sql: `select ${columns} from sandboxes where false`, values: [] };
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, Number.MAX_SAFE_INTEGER);
  if (query.afterId !== undefined) return pageSearch(query, query.afterId, columns, limit);
  if (query.dueBy !== undefined) return dueSearch(query, query.dueBy, columns, limit);
  const { sessionKey, ownerId, idPrefix, pool } = query;
  const isNarrow = [sessionKey, ownerId, idPrefix, pool].some((value) => value !== undefined);
  return isNarrow ? narrowSearch(query, columns, limit) : newestSearch(query, columns, limit);
}

/** How many of each kind match. */
export function sandboxCount(query: SandboxQuery): Search {
  const where = conditions(query);
  return { sql: `select kind, count(*) from sandboxes where ${where.sql} group by kind`, values: where.values };
}

// Walks the primary key: the same cost for every page, however many there are. What is due is few, and sorted.
function pageSearch(query: SandboxQuery, afterId: string, columns: string, limit: number): Search {
  const where = conditions(query);
  const [due, dueBy] =
    query.dueBy === undefined ? ['where', []] : ['indexed by sandboxes_due where due_at <= ? and', [query.dueBy]];
  return {
    sql: `select ${columns} from sandboxes ${due} id > ? and ${where.sql} order by id limit ?`,
    values: [...dueBy, afterId, ...where.values, limit],
  };
}

// Walks the index of what has an instant, from the most overdue on, and stops at `dueBy`.
function dueSearch(query: SandboxQuery, dueBy: number, columns: string, limit: number): Search {
  const where = conditions(query);
  return {
    sql: `select ${columns} from sandboxes indexed by sandboxes_due
      where due_at <= ? and ${where.sql} order by due_at limit ?`,
    values: [dueBy, ...where.values, limit],
  };
}

// A session, an owner, a pool or a prefix names few rows: found by their index, then sorted.
function narrowSearch(query: SandboxQuery, columns: string, limit: number): Search {
  const where = conditions(query);
  return {
    sql: `select ${columns} from sandboxes where ${where.sql} order by created_at desc limit ?`,
    values: [...where.values, limit],
  };
}

// One arm for each state, each already in order by the index on (state, created_at); SQLite merges them and stops at
// the limit, so listing costs what it returns and not what the table holds.
function newestSearch(query: SandboxQuery, columns: string, limit: number): Search {
  const arms = (query.states ?? SANDBOX_STATES).map((state) => conditions({ ...query, states: [state] }));
  return {
    sql: `${arms.map((arm) => `select ${columns} from sandboxes where ${arm.sql}`).join(' union all ')}
      order by created_at desc limit ?`,
    values: [...arms.flatMap((arm) => arm.values), limit],
  };
}

function conditions(query: SandboxQuery): Search {
  const parts: (readonly [sql: string, ...values: SqlValue[]])[] = [];
  const { states, provider, ownerId, notOwnedBy, sessionKey, idPrefix, ephemeral, pool } = query;
  if (states !== undefined) parts.push([`state in (${states.map(() => '?').join(', ')})`, ...states]);
  if (provider !== undefined) parts.push(['provider = ?', provider]);
  if (ownerId !== undefined) parts.push(['owner_id = ?', ownerId]);
  if (notOwnedBy !== undefined && notOwnedBy.length > 0)
    parts.push([`owner_id not in (${notOwnedBy.map(() => '?').join(', ')})`, ...notOwnedBy]);
  if (sessionKey !== undefined) parts.push(['session_key = ?', sessionKey]);
  if (idPrefix !== undefined) parts.push(['id >= ? and id < ?', idPrefix, idPrefix + AFTER_ALL]);
  if (ephemeral !== undefined) parts.push(['ephemeral = ?', Number(ephemeral)]);
  if (pool !== undefined) parts.push(['pool = ?', pool]);
  return {
    sql: parts.map(([sql]) => sql).join(' and ') || 'true',
    values: parts.flatMap(([, ...values]) => values),
  };
}
