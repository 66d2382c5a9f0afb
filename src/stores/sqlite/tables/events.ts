/** The `events` table. Each function is one statement, to be composed into a transaction. */
import type { EventFilter, EventType, NewEvent, SubletEvent } from '../../../core/events.ts';
import { DEFAULT_LIMIT } from '../../../store/store.ts';
import type { Connection } from '../connection.ts';
import type { Row, SqlValue } from '../driver.ts';

const INSERT = `insert into events (at, type, sandbox_id, session_key, owner_id, cause, details)
  values (?, ?, ?, ?, ?, ?, ?)`;

const SELECT = 'select seq, at, type, sandbox_id, session_key, owner_id, cause, details from events';

// The newest that is not kept, and everything before it; the oldest first.
const PRUNE = `delete from events where seq in (
  select seq from events
  where seq <= (select seq from events order by seq desc limit 1 offset ?)
  order by seq limit ?)`;

export function insertEvent(connection: Connection, event: NewEvent): void {
  const { at, type, sandboxId, sessionKey, ownerId, cause, details } = event;
  connection
    .statement(INSERT)
    .run(
      at,
      type,
      sandboxId ?? null,
      sessionKey ?? null,
      ownerId ?? null,
      cause,
      details === undefined ? null : JSON.stringify(details),
    );
}

export function selectEvents(connection: Connection, filter: EventFilter): readonly SubletEvent[] {
  const values: SqlValue[] = [filter.after ?? 0];
  let where = 'seq > ?';
  if (filter.sandboxId !== undefined) {
    where += ' and sandbox_id = ?';
    values.push(filter.sandboxId);
  }
  if (filter.sessionKey !== undefined) {
    where += ' and session_key = ?';
    values.push(filter.sessionKey);
  }
  const order = filter.descending === true ? 'desc' : 'asc';
  return connection
    .statement(`${SELECT} where ${where} order by seq ${order} limit ?`)
    .all(...values, Math.min(filter.limit ?? DEFAULT_LIMIT, Number.MAX_SAFE_INTEGER))
    .map(toEvent);
}

/** Deletes up to `limit` of them. */
export function deleteOldEvents(connection: Connection, keepNewest: number, limit: number): number {
  return Number(connection.statement(PRUNE).run(keepNewest, limit).changes);
}

function toEvent([seq, at, type, sandboxId, sessionKey, ownerId, cause, details]: Row): SubletEvent {
  return {
    seq: seq as number,
    at: at as number,
    type: type as EventType,
    sandboxId: (sandboxId as string | null) ?? undefined,
    sessionKey: (sessionKey as string | null) ?? undefined,
    ownerId: (ownerId as string | null) ?? undefined,
    cause: cause as string,
    details: typeof details === 'string' ? (JSON.parse(details) as Record<string, unknown>) : undefined,
  };
}
