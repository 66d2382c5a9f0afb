/** The `owners` table. Each function is one statement. */
import type { OwnerId } from '../../../core/ids.ts';
import type { OwnerRecord } from '../../../store/records.ts';
import type { Db, Row } from '../driver.ts';

const COLUMNS = 'id, host_id, host_name, boot_id, pid_namespace, pid, pid_started_at, started_at, heartbeat_at';

const PUT = `insert into sublet.owners (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  on conflict (id) do update set (${COLUMNS}) = row (excluded.*)`;

const SELECT = `select ${COLUMNS} from sublet.owners where id = $1`;

const LIST = `select ${COLUMNS} from sublet.owners order by started_at`;

const BEAT = 'update sublet.owners set heartbeat_at = $2 where id = $1';

const DELETE = 'delete from sublet.owners where id = $1 and heartbeat_at = coalesce($2, heartbeat_at)';

export async function upsertOwner(db: Db, owner: OwnerRecord): Promise<void> {
  const { id, hostId, hostName, bootId, pidNamespace, pid, pidStartedAt, startedAt, heartbeatAt } = owner;
  await db.change(PUT, [id, hostId, hostName, bootId, pidNamespace, pid, pidStartedAt, startedAt, heartbeatAt]);
}

export async function selectOwner(db: Db, id: OwnerId): Promise<OwnerRecord | undefined> {
  const [row] = await db.rows(SELECT, [id]);
  return row && toOwner(row);
}

export async function selectOwners(db: Db): Promise<readonly OwnerRecord[]> {
  return (await db.rows(LIST)).map(toOwner);
}

/** False when there is no such owner. */
export async function updateHeartbeat(db: Db, id: OwnerId, at: number): Promise<boolean> {
  return (await db.change(BEAT, [id, at])) === 1;
}

/** False when there is no such owner, or its heartbeat is another one. */
export async function deleteOwner(db: Db, id: OwnerId, heartbeatAt: number | undefined): Promise<boolean> {
  return (await db.change(DELETE, [id, heartbeatAt ?? null])) === 1;
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
