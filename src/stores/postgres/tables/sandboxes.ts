/** The `sandboxes` table. Each function is one statement, to be composed into a transaction. */
import type { SandboxId } from '../../../core/ids.ts';
import type { SandboxKind } from '../../../core/session-key.ts';
import type { SandboxRecord } from '../../../store/records.ts';
import { duplicateSandbox } from '../../../store/refusals.ts';
import type { SandboxQuery } from '../../../store/store.ts';
import type { Db, Row, SqlValue } from '../driver.ts';
import { Parameters } from '../parameters.ts';
import { sandboxCount, sandboxSearch } from '../sandbox-search.ts';

/** The column of each field, in the order in which they are selected. */
const COLUMN_OF: { readonly [Field in keyof SandboxRecord]: string } = {
  id: 'id',
  name: 'name',
  provider: 'provider',
  profile: 'profile',
  kind: 'kind',
  state: 'state',
  ephemeral: 'ephemeral',
  ownerId: 'owner_id',
  heirs: 'heirs',
  hostId: 'host_id',
  hostName: 'host_name',
  sessionKey: 'session_key',
  providerId: 'provider_id',
  network: 'network',
  policy: 'policy',
  spec: 'spec',
  createdAt: 'created_at',
  stateAt: 'state_at',
  lastActiveAt: 'last_active_at',
  gaps: 'gaps',
  dueAt: 'due_at',
  deadManAt: 'dead_man_at',
  cause: 'cause',
  lease: 'lease',
  fence: 'fence',
  pool: 'pool',
  lane: 'lane',
  terms: 'terms',
  version: 'version',
};
const FIELDS = Object.keys(COLUMN_OF) as (keyof SandboxRecord)[];

export const SANDBOX_COLUMNS: string = FIELDS.map((field) => `sandboxes.${COLUMN_OF[field]}`).join(', ');

const SELECT = `select ${SANDBOX_COLUMNS} from sublet.sandboxes where id = $1`;

// Sorted before it is locked: two that want several of the same rows ask for them in one order.
const LOCK = `select ${SANDBOX_COLUMNS} from sublet.sandboxes where id = any($1) order by id for no key update`;

const INSERT = `insert into sublet.sandboxes (${FIELDS.map((field) => COLUMN_OF[field]).join(', ')})
  values (${FIELDS.map((_, index) => `$${index + 1}`).join(', ')}) on conflict do nothing`;

const TOUCH = `update sublet.sandboxes
  set last_active_at = touched.last_active_at, due_at = touched.due_at, version = touched.version,
    gaps = touched.gaps::json
  from unnest($1::text[], $2::float8[], $3::float8[], $4::integer[], $5::text[])
    as touched (id, last_active_at, due_at, version, gaps)
  where sandboxes.id = touched.id`;

// A destroyed sandbox that a session still names is what the session's next use must be told about.
const PRUNE = `delete from sublet.sandboxes where id in (
  select id from sublet.sandboxes
  where state in ('destroyed', 'lost') and state_at < $1
    and not exists (select 1 from sublet.sessions where sandbox_id = sandboxes.id)
  order by id limit $2)`;

export async function selectSandbox(db: Db, id: SandboxId): Promise<SandboxRecord | undefined> {
  const [row] = await db.rows(SELECT, [id]);
  return row && toSandbox(row);
}

/** Those that are there, locked until the transaction ends. */
export async function lockSandboxes(db: Db, ids: readonly SandboxId[]): Promise<readonly SandboxRecord[]> {
  const rows = await db.rows(LOCK, [ids]);
  return rows.map((row) => toSandbox(row));
}

export async function lockSandbox(db: Db, id: SandboxId): Promise<SandboxRecord | undefined> {
  return (await lockSandboxes(db, [id]))[0];
}

export async function insertSandbox(db: Db, sandbox: SandboxRecord): Promise<void> {
  const inserted = await db.change(
    INSERT,
    FIELDS.map((field) => toSql(sandbox[field])),
  );
  if (inserted === 0) throw duplicateSandbox(sandbox.id);
}

/** Writes the fields that differ and no other: an index whose columns stay the same costs nothing. */
export async function updateSandbox(db: Db, before: SandboxRecord, after: SandboxRecord): Promise<void> {
  const parameters = new Parameters();
  const assignments = FIELDS.filter((field) => before[field] !== after[field]).map(
    (field) => `${COLUMN_OF[field]} = ${parameters.add(toSql(after[field]))}`,
  );
  const id = parameters.add(after.id);
  await db.change(`update sublet.sandboxes set ${assignments.join(', ')} where id = ${id}`, parameters.values);
}

/** Writes what activity changes, of all of them at once. */
export async function updateActivity(db: Db, sandboxes: readonly SandboxRecord[]): Promise<void> {
  await db.change(TOUCH, [
    sandboxes.map(({ id }) => id),
    sandboxes.map(({ lastActiveAt }) => lastActiveAt),
    sandboxes.map(({ dueAt }) => dueAt ?? null),
    sandboxes.map(({ version }) => version),
    sandboxes.map(({ gaps }) => (gaps === undefined ? null : JSON.stringify(gaps))),
  ]);
}

export async function searchSandboxes(db: Db, query: SandboxQuery): Promise<readonly SandboxRecord[]> {
  const { sql, values } = sandboxSearch(query, SANDBOX_COLUMNS);
  return (await db.rows(sql, values)).map((row) => toSandbox(row));
}

export async function countSandboxes(db: Db, query: SandboxQuery): Promise<Readonly<Record<SandboxKind, number>>> {
  const { sql, values } = sandboxCount(query);
  const rows = await db.rows(sql, values);
  return { execution: 0, app: 0, desktop: 0, ...(Object.fromEntries(rows) as Partial<Record<SandboxKind, number>>) };
}

/** Deletes up to `limit` of them. */
export function deleteOldSandboxes(db: Db, before: number, limit: number): Promise<number> {
  return db.change(PRUNE, [before, limit]);
}

/** Reads a record from a row whose sandbox columns begin at `offset`. The driver has parsed JSON and numbers. */
export function toSandbox(row: Row, offset: number = 0): SandboxRecord {
  const entries = FIELDS.map((field, index) => [field, row[offset + index] ?? undefined] as const);
  return Object.fromEntries(entries) as unknown as SandboxRecord;
}

function toSql(value: SandboxRecord[keyof SandboxRecord]): SqlValue {
  if (value === undefined) return null;
  return typeof value === 'object' ? JSON.stringify(value) : value;
}
