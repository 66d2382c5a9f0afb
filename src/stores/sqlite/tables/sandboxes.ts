/** The `sandboxes` table. Each function is one statement, to be composed into a transaction. */
import type { GapSummary } from '../../../core/adaptive-idle.ts';
import type { OwnerId, SandboxId } from '../../../core/ids.ts';
import type { NetworkLevel } from '../../../core/network.ts';
import type { LifecyclePolicy } from '../../../core/policy.ts';
import type { PoolTerms } from '../../../core/pool-settings.ts';
import type { SandboxKind } from '../../../core/session-key.ts';
import type { SandboxState } from '../../../core/states.ts';
import type { LeaseRecord, SandboxRecord, StoredSpec } from '../../../store/records.ts';
import { duplicateSandbox } from '../../../store/refusals.ts';
import type { SandboxQuery } from '../../../store/store.ts';
import type { Connection } from '../connection.ts';
import type { Row, SqlValue } from '../driver.ts';
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

const NO_HEIRS: readonly OwnerId[] = Object.freeze([]);

const SELECT = `select ${SANDBOX_COLUMNS} from sandboxes where id = ?`;

const INSERT = `insert into sandboxes (${FIELDS.map((field) => COLUMN_OF[field]).join(', ')})
  values (${FIELDS.map(() => '?').join(', ')}) on conflict do nothing`;

// A destroyed sandbox that a session still names is what the session's next use must be told about.
const PRUNE = `delete from sandboxes where id in (
  select id from sandboxes
  where state in ('destroyed', 'lost') and state_at < ?
    and not exists (select 1 from sessions where sandbox_id = sandboxes.id)
  limit ?)`;

export function selectSandbox(connection: Connection, id: SandboxId): SandboxRecord | undefined {
  const row = connection.statement(SELECT).get(id);
  return row && toSandbox(row);
}

export function insertSandbox(connection: Connection, sandbox: SandboxRecord): void {
  const { changes } = connection.statement(INSERT).run(...FIELDS.map((field) => toSql(sandbox[field])));
  if (Number(changes) === 0) throw duplicateSandbox(sandbox.id);
}

/** Writes the fields that differ and no other: an index whose column is not named costs nothing. */
export function updateSandbox(connection: Connection, before: SandboxRecord, after: SandboxRecord): void {
  const changed = FIELDS.filter((field) => before[field] !== after[field]);
  const assignments = changed.map((field) => `${COLUMN_OF[field]} = ?`).join(', ');
  connection
    .statement(`update sandboxes set ${assignments} where id = ?`)
    .run(...changed.map((field) => toSql(after[field])), after.id);
}

export function searchSandboxes(connection: Connection, query: SandboxQuery): readonly SandboxRecord[] {
  const { sql, values } = sandboxSearch(query, SANDBOX_COLUMNS);
  return connection
    .statement(sql)
    .all(...values)
    .map((row) => toSandbox(row));
}

export function countSandboxes(connection: Connection, query: SandboxQuery): Readonly<Record<SandboxKind, number>> {
  const { sql, values } = sandboxCount(query);
  const rows = connection.statement(sql).all(...values);
  return { execution: 0, app: 0, desktop: 0, ...Object.fromEntries(rows) };
}

/** Deletes up to `limit` of them. */
export function deleteOldSandboxes(connection: Connection, before: number, limit: number): number {
  return Number(connection.statement(PRUNE).run(before, limit).changes);
}

/** Reads a record from a row whose sandbox columns begin at `offset`. */
export function toSandbox(row: Row, offset: number = 0): SandboxRecord {
  let index = offset;
  const text = (): string => row[index++] as string;
  const number = (): number => row[index++] as number;
  const optional = <T extends SqlValue>(): T | undefined => (row[index++] as T | null) ?? undefined;
  return {
    id: text(),
    name: text(),
    provider: text(),
    profile: text(),
    kind: text() as SandboxKind,
    state: text() as SandboxState,
    ephemeral: number() === 1,
    ownerId: text(),
    heirs: toHeirs(text()),
    hostId: text(),
    hostName: text(),
    sessionKey: optional<string>(),
    providerId: optional<string>(),
    network: text() as NetworkLevel,
    policy: toPolicy(text()),
    spec: JSON.parse(text()) as StoredSpec,
    createdAt: number(),
    stateAt: number(),
    lastActiveAt: number(),
    gaps: toGaps(optional<string>()),
    dueAt: optional<number>(),
    deadManAt: optional<number>(),
    cause: text(),
    lease: toLease(optional<string>()),
    fence: number(),
    pool: optional<string>(),
    lane: optional<string>(),
    terms: toTerms(optional<string>()),
    version: number(),
  };
}

// Nearly every row has none: not worth parsing.
function toHeirs(json: string): readonly OwnerId[] {
  return json === '[]' ? NO_HEIRS : (JSON.parse(json) as readonly OwnerId[]);
}

function toLease(json: string | undefined): LeaseRecord | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as LeaseRecord);
}

// Rows that are read together most often have the same one, and reading it takes a third of reading a row.
let lastPolicy: readonly [json: string, policy: LifecyclePolicy] | undefined;

function toPolicy(json: string): LifecyclePolicy {
  if (lastPolicy?.[0] !== json) lastPolicy = [json, Object.freeze(JSON.parse(json) as LifecyclePolicy)];
  return lastPolicy[1];
}

function toGaps(json: string | undefined): GapSummary | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as GapSummary);
}

function toTerms(json: string | undefined): PoolTerms | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as PoolTerms);
}

function toSql(value: SandboxRecord[keyof SandboxRecord]): SqlValue {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'object' ? JSON.stringify(value) : value;
}
