/** The search over sandboxes as SQL, in the form that an index serves. */
import { SANDBOX_STATES } from '../../core/states.ts';
import type { SandboxQuery } from '../../store/store.ts';
import { DEFAULT_LIMIT } from '../../store/store.ts';
import type { SqlValue } from './driver.ts';
import { Parameters, toLimit } from './parameters.ts';

export interface Search {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Sorts after every text that begins with the prefix before it. */
const AFTER_ALL = '\u{10FFFF}';

export function sandboxSearch(query: SandboxQuery, columns: string): Search {
  const parameters = new Parameters();
  const limit = parameters.add(toLimit(query.limit ?? DEFAULT_LIMIT));
  const select = `select ${columns} from sublet.sandboxes where`;
  const { states, afterId, dueBy, sessionKey, ownerId, idPrefix, pool } = query;
  const isNarrow = [sessionKey, ownerId, idPrefix, pool].some((value) => value !== undefined);
  let sql: string;
  if (states?.length === 0) sql = `${select} false limit ${limit}`;
  else if (afterId !== undefined) {
    // Walks the primary key, or what is due: the same cost for every page, however many there are.
    const due = dueBy === undefined ? '' : `due_at <= ${parameters.add(dueBy)} and `;
    const where = `${due}id > ${parameters.add(afterId)} and ${conditions(query, parameters)}`;
    sql = `${select} ${where} order by id limit ${limit}`;
  } else if (dueBy !== undefined) {
    sql = `${select} due_at <= ${parameters.add(dueBy)} and ${conditions(query, parameters)} order by due_at limit ${limit}`;
  } else if (isNarrow) {
    sql = `${select} ${conditions(query, parameters)} order by created_at desc limit ${limit}`;
  } else {
    // One arm for each state, each in order by the index on (state, created_at): listing costs what it returns, and not
    // what the table holds.
    const arms = (states ?? SANDBOX_STATES).map((state) => conditions({ ...query, states: [state] }, parameters));
    const newest = arms.map((arm) => `(${select} ${arm} order by created_at desc limit ${limit})`).join(' union all ');
    sql = `select * from (${newest}) as newest order by created_at desc limit ${limit}`;
  }
  return { sql, values: parameters.values };
}

/** How many of each kind match. */
export function sandboxCount(query: SandboxQuery): Search {
  const parameters = new Parameters();
  const where = conditions(query, parameters);
  return {
    sql: `select kind, count(*)::integer from sublet.sandboxes where ${where} group by kind`,
    values: parameters.values,
  };
}

function conditions(query: SandboxQuery, parameters: Parameters): string {
  const { states, provider, ownerId, notOwnedBy, sessionKey, idPrefix, ephemeral, pool } = query;
  const parts: string[] = [];
  if (states?.length === 1) parts.push(`state = ${parameters.add(states[0] ?? '')}`);
  else if (states !== undefined) parts.push(`state = any(${parameters.add(states)})`);
  if (provider !== undefined) parts.push(`provider = ${parameters.add(provider)}`);
  if (ownerId !== undefined) parts.push(`owner_id = ${parameters.add(ownerId)}`);
  if (notOwnedBy !== undefined) parts.push(`owner_id <> all(${parameters.add(notOwnedBy)})`);
  if (sessionKey !== undefined) parts.push(`session_key = ${parameters.add(sessionKey)}`);
  if (idPrefix !== undefined) {
    parts.push(`id >= ${parameters.add(idPrefix)} and id < ${parameters.add(idPrefix + AFTER_ALL)}`);
  }
  if (pool !== undefined) parts.push(`pool = ${parameters.add(pool)}`);
  if (ephemeral !== undefined) parts.push(`ephemeral = ${parameters.add(ephemeral)}`);
  return parts.join(' and ') || 'true';
}
