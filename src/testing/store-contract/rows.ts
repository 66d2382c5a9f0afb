/** Rows for the store contract: complete by default, so that a case names only what it is about. */
import assert from 'node:assert/strict';
import { newId } from '../../core/ids.ts';
import { DEFAULT_POLICY } from '../../core/policy.ts';
import type { SandboxState } from '../../core/states.ts';
import type { BoundSession, OwnerRecord, SandboxRecord } from '../../store/records.ts';
import type { Move, NewSandbox, NewSession, Store } from '../../store/store.ts';

/** An instant to count from. */
export const T0 = 1_700_000_000_000;

export const OWNER = 'own_contract';

export function ownerRow(fields: Partial<OwnerRecord> = {}): OwnerRecord {
  return {
    id: newId('own'),
    hostId: 'host-a',
    hostName: 'alpha',
    bootId: 'boot-1',
    pidNamespace: 'pid:[1]',
    pid: 4242,
    pidStartedAt: 987_654_321,
    startedAt: T0,
    heartbeatAt: T0,
    ...fields,
  };
}

export function sandboxRow(fields: Partial<NewSandbox> = {}): NewSandbox {
  const id = fields.id ?? newId('sbx');
  return {
    id,
    name: `sublet-${id}`,
    provider: 'namespace',
    profile: 'default',
    kind: 'execution',
    ephemeral: false,
    ownerId: OWNER,
    hostId: 'host-a',
    hostName: 'alpha',
    sessionKey: undefined,
    network: 'open',
    policy: DEFAULT_POLICY,
    spec: {},
    createdAt: T0,
    dueAt: undefined,
    deadManAt: undefined,
    cause: 'asked by a test',
    ...fields,
  };
}

export function sessionRow(key: string, fields: Partial<NewSession> = {}): NewSession {
  return {
    key,
    kind: 'execution',
    profile: 'default',
    network: 'open',
    privateReason: undefined,
    createdAt: T0,
    ...fields,
  };
}

export function moveTo(to: SandboxState, fields: Partial<Move> = {}): Move {
  return { to, at: T0 + 1000, cause: `moved to ${to}`, ownerId: OWNER, ...fields };
}

/** Legal ways from `creating` to each state. */
const ROUTES: Readonly<Record<SandboxState, readonly SandboxState[]>> = {
  creating: [],
  running: ['running'],
  paused: ['running', 'paused'],
  stopped: ['running', 'stopped'],
  destroying: ['destroying'],
  destroyed: ['destroying', 'destroyed'],
  lost: ['running', 'lost'],
};

/** A sandbox already in `state`. */
export async function sandboxIn(
  store: Store,
  state: SandboxState,
  fields: Partial<NewSandbox> = {},
): Promise<SandboxRecord> {
  return bring(store, await store.insertSandbox(sandboxRow(fields)), state);
}

/** A session whose sandbox is in `state`. */
export async function sessionIn(
  store: Store,
  key: string,
  state: SandboxState,
  fields: Partial<NewSandbox> = {},
): Promise<BoundSession> {
  const { won, bound } = await store.claimSession(sessionRow(key), sandboxRow(fields));
  assert.equal(won, true);
  return { session: bound.session, sandbox: await bring(store, bound.sandbox, state) };
}

async function bring(store: Store, sandbox: SandboxRecord, state: SandboxState): Promise<SandboxRecord> {
  let present = sandbox;
  for (const to of ROUTES[state]) {
    const moved = await store.moveSandbox(sandbox.id, moveTo(to));
    assert.ok(moved, `${present.state} → ${to}`);
    present = moved;
  }
  return present;
}

/** Equal but for fields that are undefined on one side and absent on the other. */
export function assertSame(actual: unknown, expected: unknown, message?: string): void {
  assert.deepEqual(withoutUndefined(actual), withoutUndefined(expected), message);
}

function withoutUndefined(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

export function ids(rows: readonly { readonly id: string }[]): readonly string[] {
  return rows.map((row) => row.id);
}
