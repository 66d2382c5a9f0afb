/** The `sessions` table. Each function is one statement, to be composed into a transaction. */
import type { NetworkLevel } from '../../../core/network.ts';
import type { SandboxId } from '../../../core/ids.ts';
import type { SandboxKind, SessionKey } from '../../../core/session-key.ts';
import { memberRange } from '../../../core/session-key.ts';
import type { SnapshotInfo } from '../../../core/snapshots.ts';
import type { BoundSession, SessionRecord } from '../../../store/records.ts';
import type { Connection } from '../connection.ts';
import type { Row } from '../driver.ts';
import { SANDBOX_COLUMNS, toSandbox } from './sandboxes.ts';

const SESSION_COLUMNS = 9;

const BOUND = `select
    sessions.key, sessions.kind, sessions.profile, sessions.sandbox_id, sessions.network, sessions.private_reason,
    sessions.created_at, sessions.version, sessions.snapshot, ${SANDBOX_COLUMNS}
  from sessions join sandboxes on sandboxes.id = sessions.sandbox_id`;

const SELECT = `${BOUND} where sessions.key = ?`;

const LIST = `${BOUND} order by sessions.created_at desc limit ?`;

const FAMILY = `${BOUND} where sessions.key = ? or (sessions.key >= ? and sessions.key < ?)
  order by sessions.created_at desc limit ?`;

const ENDED = `${BOUND} where sandboxes.state in ('destroyed', 'lost') and sandboxes.state_at < ? limit ?`;

const INSERT = `insert into sessions
  (key, kind, profile, sandbox_id, network, private_reason, created_at, version) values (?, ?, ?, ?, ?, ?, ?, ?)`;

const UPDATE = `update sessions
  set profile = ?, sandbox_id = ?, network = ?, private_reason = ?, snapshot = ?, version = ? where key = ?`;

const DELETE = `delete from sessions where key = ? and sandbox_id = ?`;

export function selectSession(connection: Connection, key: SessionKey): BoundSession | undefined {
  const row = connection.statement(SELECT).get(key);
  return row && toBoundSession(row);
}

export function selectSessions(
  connection: Connection,
  limit: number,
  family: SessionKey | undefined,
): readonly BoundSession[] {
  const most = Math.min(limit, Number.MAX_SAFE_INTEGER);
  const rows =
    family === undefined
      ? connection.statement(LIST).all(most)
      : connection.statement(FAMILY).all(family, ...memberRange(family), most);
  return rows.map((row) => toBoundSession(row));
}

export function selectEndedSessions(connection: Connection, before: number, limit: number): readonly BoundSession[] {
  return connection
    .statement(ENDED)
    .all(before, Math.min(limit, Number.MAX_SAFE_INTEGER))
    .map((row) => toBoundSession(row));
}

export function insertSession(connection: Connection, session: SessionRecord): void {
  const { key, kind, profile, sandboxId, network, privateReason, createdAt, version } = session;
  connection.statement(INSERT).run(key, kind, profile, sandboxId, network, privateReason ?? null, createdAt, version);
}

export function updateSession(connection: Connection, session: SessionRecord): void {
  const { key, profile, sandboxId, network, privateReason, version } = session;
  const snapshot = session.snapshot === undefined ? null : JSON.stringify(session.snapshot);
  connection.statement(UPDATE).run(profile, sandboxId, network, privateReason ?? null, snapshot, version, key);
}

/** False when the key is bound to another sandbox or to none. */
export function deleteSession(connection: Connection, key: SessionKey, sandboxId: SandboxId): boolean {
  return Number(connection.statement(DELETE).run(key, sandboxId).changes) === 1;
}

function toBoundSession(row: Row): BoundSession {
  const [key, kind, profile, sandboxId, network, privateReason, createdAt, version, snapshot] = row;
  return {
    session: {
      key: key as SessionKey,
      kind: kind as SandboxKind,
      profile: profile as string,
      sandboxId: sandboxId as SandboxId,
      network: network as NetworkLevel,
      privateReason: (privateReason as string | null) ?? undefined,
      createdAt: createdAt as number,
      version: version as number,
      snapshot: snapshot === null ? undefined : (JSON.parse(snapshot as string) as SnapshotInfo),
    },
    sandbox: toSandbox(row, SESSION_COLUMNS),
  };
}
