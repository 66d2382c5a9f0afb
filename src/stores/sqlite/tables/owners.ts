/** The `owners` table. Each function is one statement. */
import type { OwnerId } from '../../../core/ids.ts';
import type { OwnerRecord } from '../../../store/records.ts';
import type { Connection } from '../connection.ts';
import type { Row } from '../driver.ts';

const COLUMNS = 'id, host_id, host_name, boot_id, pid_namespace, pid, pid_started_at, started_at, heartbeat_at';

const PUT = `insert or replace into owners (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const SELECT = `select ${COLUMNS} from owners where id = ?`;

const LIST = `select ${COLUMNS} from owners order by started_at`;

const BEAT = 'update owners set heartbeat_at = ? where id = ?';

const DELETE = 'delete from owners where id = ? and heartbeat_at = coalesce(?, heartbeat_at)';

export function upsertOwner(connection: Connection, owner: OwnerRecord): void {
  const { id, hostId, hostName, bootId, pidNamespace, pid, pidStartedAt, startedAt, heartbeatAt } = owner;
  connection.statement(PUT).run(id, hostId, hostName, bootId, pidNamespace, pid, pidStartedAt, startedAt, heartbeatAt);
}

export function selectOwner(connection: Connection, id: OwnerId): OwnerRecord | undefined {
  const row = connection.statement(SELECT).get(id);
  return row && toOwner(row);
}

export function selectOwners(connection: Connection): readonly OwnerRecord[] {
  return connection.statement(LIST).all().map(toOwner);
}

/** False when there is no such owner. */
export function updateHeartbeat(connection: Connection, id: OwnerId, at: number): boolean {
  return Number(connection.statement(BEAT).run(at, id).changes) === 1;
}

/** False when there is no such owner, or its heartbeat is another one. */
export function deleteOwner(connection: Connection, id: OwnerId, heartbeatAt: number | undefined): boolean {
  return Number(connection.statement(DELETE).run(id, heartbeatAt ?? null).changes) === 1;
}

function toOwner(row: Row): OwnerRecord {
  const [id, hostId, hostName, bootId, pidNamespace, pid, pidStartedAt, startedAt, heartbeatAt] = row;
  return {
    id: id as OwnerId,
    hostId: hostId as string,
    hostName: hostName as string,
    bootId: bootId as string,
    pidNamespace: pidNamespace as string,
    pid: pid as number,
    pidStartedAt: pidStartedAt as number,
    startedAt: startedAt as number,
    heartbeatAt: heartbeatAt as number,
  };
}
