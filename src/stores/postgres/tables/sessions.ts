/** The `sessions` table. Each function is one statement, to be composed into a transaction. */
import type { NetworkLevel } from '../../../core/network.ts';
import type { SandboxId } from '../../../core/ids.ts';
import type { SandboxKind, SessionKey } from '../../../core/session-key.ts';
import { memberRange } from '../../../core/session-key.ts';
import type { SnapshotInfo } from '../../../core/snapshots.ts';
import type { BoundSession, SessionRecord } from '../../../store/records.ts';
import type { Db, Row } from '../driver.ts';
import { toLimit } from '../parameters.ts';
import { SANDBOX_COLUMNS, toSandbox } from './sandboxes.ts';

const COLUMNS = [
  'key',
  'kind',
  'profile',
  'sandbox_id',
  'network',
  'private_reason',
  'created_at',
  'version',
  'snapshot',
] as const;

const BOUND = `select ${COLUMNS.map((column) => `sessions.${column}`).join(', ')}, ${SANDBOX_COLUMNS}
  from sublet.sessions join sublet.sandboxes on sandboxes.id = sessions.sandbox_id`;

const SELECT = `${BOUND} where sessions.key = $1`;

const LIST = `${BOUND} order by sessions.created_at desc limit $1`;

const FAMILY = `${BOUND} where sessions.key = $1 or (sessions.key >= $2 and sessions.key < $3)
  order by sessions.created_at desc limit $4`;

const ENDED = `${BOUND} where sandboxes.state in ('destroyed', 'lost') and sandboxes.state_at < $1 limit $2`;

// Without the sandbox: a join whose session is re-bound while it waits for the lock finds the old sandbox not matching
// any more, and so no row at all.
const LOCK = `select ${COLUMNS.join(', ')} from sublet.sessions where key = $1 for no key update`;

// Waits for another transaction that is inserting the same key, and does nothing if that one is committed.
const INSERT = `insert into sublet.sessions (${COLUMNS.join(', ')})
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing`;

const UPDATE = `update sublet.sessions
  set profile = $2, sandbox_id = $3, network = $4, private_reason = $5, version = $6, snapshot = $7 where key = $1`;

const DELETE = `delete from sublet.sessions where key = $1 and sandbox_id = $2`;

export async function selectSession(db: Db, key: SessionKey): Promise<BoundSession | undefined> {
  const [row] = await db.rows(SELECT, [key]);
  return row && toBoundSession(row);
}

export async function selectSessions(
  db: Db,
  limit: number,
  family: SessionKey | undefined,
): Promise<readonly BoundSession[]> {
  const rows =
    family === undefined
      ? await db.rows(LIST, [toLimit(limit)])
      : await db.rows(FAMILY, [family, ...memberRange(family), toLimit(limit)]);
  return rows.map(toBoundSession);
}

export async function selectEndedSessions(db: Db, before: number, limit: number): Promise<readonly BoundSession[]> {
  return (await db.rows(ENDED, [before, toLimit(limit)])).map(toBoundSession);
}

/** Locked until the transaction ends. */
export async function lockSession(db: Db, key: SessionKey): Promise<SessionRecord | undefined> {
  const [row] = await db.rows(LOCK, [key]);
  return row && toSession(row);
}

/** False when the key is bound already. */
export async function insertSession(db: Db, session: SessionRecord): Promise<boolean> {
  const { key, kind, profile, sandboxId, network, privateReason, createdAt, version } = session;
  const snapshot = toJson(session.snapshot);
  const values = [key, kind, profile, sandboxId, network, privateReason ?? null, createdAt, version, snapshot];
  return (await db.change(INSERT, values)) === 1;
}

export async function updateSession(db: Db, session: SessionRecord): Promise<void> {
  const { key, profile, sandboxId, network, privateReason, version } = session;
  const snapshot = toJson(session.snapshot);
  await db.change(UPDATE, [key, profile, sandboxId, network, privateReason ?? null, version, snapshot]);
}

/** False when the key is bound to another sandbox or to none. */
export async function deleteSession(db: Db, key: SessionKey, sandboxId: SandboxId): Promise<boolean> {
  return (await db.change(DELETE, [key, sandboxId])) === 1;
}

function toBoundSession(row: Row): BoundSession {
  return { session: toSession(row), sandbox: toSandbox(row, COLUMNS.length) };
}

function toSession(row: Row): SessionRecord {
  const [key, kind, profile, sandboxId, network, privateReason, createdAt, version, snapshot] = row;
  return {
    key: key as SessionKey,
    kind: kind as SandboxKind,
    profile: profile as string,
    sandboxId: sandboxId as SandboxId,
    network: network as NetworkLevel,
    privateReason: (privateReason as string | null) ?? undefined,
    createdAt: createdAt as number,
    version: version as number,
    snapshot: (snapshot as SnapshotInfo | null) ?? undefined,
  };
}

function toJson(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
