/** The `events` table. Each function is one statement, to be composed into a transaction. */
import type { EventFilter, EventType, NewEvent, SubletEvent } from '../../../core/events.ts';
import { DEFAULT_LIMIT } from '../../../store/store.ts';
import type { Db, Row } from '../driver.ts';
import { Parameters, toLimit } from '../parameters.ts';

const INSERT = `insert into sublet.events (at, type, sandbox_id, session_key, owner_id, cause, details)
  select at, type, sandbox_id, session_key, owner_id, cause, details::json
  from unnest($1::float8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
    as new (at, type, sandbox_id, session_key, owner_id, cause, details, place)
  order by place`;

const SELECT = 'select seq, at, type, sandbox_id, session_key, owner_id, cause, details from sublet.events';

// The newest that is not kept, and everything before it; the oldest first.
const PRUNE = `delete from sublet.events where seq in (
  select seq from sublet.events
  where seq <= (select seq from sublet.events order by seq desc limit 1 offset $1)
  order by seq limit $2)`;

/** Always a transaction's last step: from here on nobody else can number events until it is committed. */
export async function insertEvents(db: Db, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await db.change(INSERT, [
    events.map(({ at }) => at),
    events.map(({ type }) => type),
    events.map(({ sandboxId }) => sandboxId ?? null),
    events.map(({ sessionKey }) => sessionKey ?? null),
    events.map(({ ownerId }) => ownerId ?? null),
    events.map(({ cause }) => cause),
    events.map(({ details }) => (details === undefined ? null : JSON.stringify(details))),
  ]);
}

export async function selectEvents(db: Db, filter: EventFilter): Promise<readonly SubletEvent[]> {
  const parameters = new Parameters();
  let where = `seq > ${parameters.add(filter.after ?? 0)}`;
  if (filter.sandboxId !== undefined) where += ` and sandbox_id = ${parameters.add(filter.sandboxId)}`;
  if (filter.sessionKey !== undefined) where += ` and session_key = ${parameters.add(filter.sessionKey)}`;
  const order = filter.descending === true ? 'desc' : 'asc';
  const limit = parameters.add(toLimit(filter.limit ?? DEFAULT_LIMIT));
  const rows = await db.rows(`${SELECT} where ${where} order by seq ${order} limit ${limit}`, parameters.values);
  return rows.map(toEvent);
}

/** Deletes up to `limit` of them. */
export function deleteOldEvents(db: Db, keepNewest: number, limit: number): Promise<number> {
  return db.change(PRUNE, [keepNewest, limit]);
}

function toEvent([seq, at, type, sandboxId, sessionKey, ownerId, cause, details]: Row): SubletEvent {
  return {
    seq: Number(seq),
    at: at as number,
    type: type as EventType,
    sandboxId: (sandboxId as string | null) ?? undefined,
    sessionKey: (sessionKey as string | null) ?? undefined,
    ownerId: (ownerId as string | null) ?? undefined,
    cause: cause as string,
    details: (details as Record<string, unknown> | null) ?? undefined,
  };
}
