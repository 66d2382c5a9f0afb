/** Leaving a pool: what waits goes to another process that keeps it; when there is none, it goes. */
import { NOBODY } from '../../core/ids.ts';
import type { OwnerRecord, SandboxRecord } from '../../store/records.ts';
import { destroySandbox } from '../destroy-sandbox.ts';
import type { Engine } from '../engine.ts';
import { giveTo, livingOwner } from '../heirs.ts';
import { isElsewhere, placeOf } from '../provider-call.ts';

const AT_ONCE = 16;
const RESTING = ['running', 'paused', 'stopped'] as const;

/** Another process that keeps a pool of what the sandbox is, and can reach it. */
export async function livingKeeper(engine: Engine, record: SandboxRecord): Promise<OwnerRecord | undefined> {
  if (record.pool === undefined) return undefined;
  const place = placeOf(engine, await engine.ports.provider(record.provider, record.profile));
  for (const { lane, owner } of await engine.ports.store.pools.keepers(record.pool)) {
    if (lane !== record.lane || (place !== undefined && owner.hostId !== record.hostId)) continue;
    const heir = await livingOwner(engine, owner.id);
    if (heir !== undefined) return heir;
  }
  return undefined;
}

/** Everything of pools that follows this process. */
export async function leavePools(engine: Engine): Promise<void> {
  const { ownerId } = engine;
  const query = { ownerId, states: RESTING, limit: Number.MAX_SAFE_INTEGER };
  const rows = (await engine.ports.store.findSandboxes(query)).filter(({ pool }) => pool !== undefined);
  for (let from = 0; from < rows.length; from += AT_ONCE)
    await Promise.all(rows.slice(from, from + AT_ONCE).map((row) => leaveOne(engine, row)));
}

async function leaveOne(engine: Engine, row: SandboxRecord): Promise<void> {
  // Again when the row has changed meanwhile: it may have been taken, and then it follows whoever took it.
  for (let present: SandboxRecord | undefined = row; isOurs(engine, present);) {
    if (await settle(engine, present).catch(() => true)) return;
    present = await engine.ports.store.getSandbox(row.id);
  }
}

function isOurs(engine: Engine, row: SandboxRecord | undefined): row is SandboxRecord {
  return row !== undefined && row.ownerId === engine.ownerId && RESTING.some((state) => state === row.state);
}

/** False when the row is no longer as it was read. */
async function settle(engine: Engine, record: SandboxRecord): Promise<boolean> {
  const { store } = engine.ports;
  if (isElsewhere(engine, await engine.ports.provider(record.provider, record.profile), record)) return true;
  const isClean = record.lease === undefined;
  const heir = isClean ? await livingKeeper(engine, record) : await holderOf(engine, record);
  if (heir !== undefined) return giveTo(engine, record, heir);
  const { id, version } = record;
  if (isClean && record.policy.onExit === 'keep')
    return (await store.patchSandbox(id, { ownerId: NOBODY, heirs: [] }, version)) !== undefined;
  return (await destroySandbox(engine, record, 'the last to keep its pool exited', { version })) !== undefined;
}

async function holderOf(engine: Engine, record: SandboxRecord): Promise<OwnerRecord | undefined> {
  const lease = await engine.leaseWatch.standing(record, engine.now());
  return lease && livingOwner(engine, lease.ownerId);
}
