/** What waits in a pool, looked through: what nobody may have goes, what is too many sleeps or goes, what nobody owns is adopted. */
import { tidyIdle } from '../../core/pool-policy.ts';
import type { PoolCounts } from '../../core/pool-settings.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Engine } from '../engine.ts';
import { describe } from '../engine.ts';
import type { LiveSandbox } from '../live-sandbox.ts';
import { pauseSandbox } from '../move-sandbox.ts';
import { isElsewhere } from '../provider-call.ts';
import { discard } from './discard.ts';
import type { PoolPlan } from './pool-plan.ts';

const RESTING = ['running', 'paused', 'stopped'] as const;

export async function tidyPool(engine: Engine, plan: PoolPlan, counts: PoolCounts): Promise<void> {
  const { store } = engine.ports;
  const { name, settings, provider } = plan;
  const held = handlesOf(engine, name);
  const rows = await store.findSandboxes({ pool: name, states: RESTING, limit: Number.MAX_SAFE_INTEGER });
  await letGoOfOthers(engine, held, rows);
  const idle = rows.filter((row) => row.lease === undefined && !isElsewhere(engine, provider, row));
  await adoptOrphans(engine, idle);
  const lanes = new Set((await store.pools.keepers(name)).map(({ lane }) => lane));
  const waiting = idle.flatMap((row) =>
    row.terms === undefined ? [] : [{ ...row, terms: row.terms, isWanted: lanes.has(row.lane ?? '') }],
  );
  const facts = { waiting: counts.waiting, canPause: provider.capabilities.has('pause'), now: engine.now() };
  const byId = new Map(idle.map((row) => [row.id, row]));
  for (const { id, action, reason } of tidyIdle(settings, waiting, facts)) {
    const row = byId.get(id);
    if (row === undefined || engine.closing.aborted) continue;
    const only = { version: row.version };
    await (action === 'destroy' ? discard(engine, row, reason, only) : pauseSandbox(engine, row, reason, only)).catch(
      (cause: unknown) => engine.ports.log.warn({ sandboxId: id, error: describe(cause) }, 'pool not tidied'),
    );
  }
}

interface HeldHandle {
  readonly live: LiveSandbox;
  /** As it was then: whoever takes it has another. */
  readonly record: SandboxRecord;
}

function handlesOf(engine: Engine, pool: string): readonly HeldHandle[] {
  const ofPool = [...engine.lives.values()].filter(({ record }) => record.pool === pool);
  return ofPool.map((live) => ({ live, record: live.record }));
}

// A handle on what another process has taken holds connections and helper processes for nothing. `held` is from before the
// rows were asked for: what this process has made or taken since is not in them.
async function letGoOfOthers(
  engine: Engine,
  held: readonly HeldHandle[],
  rows: readonly SandboxRecord[],
): Promise<void> {
  const ours = new Set(rows.filter(({ ownerId }) => ownerId === engine.ownerId).map(({ id }) => id));
  for (const { live, record } of held) {
    const isAsItWas = engine.lives.get(live.id) === live && live.record === record;
    if (isAsItWas && !ours.has(live.id)) await engine.letGo(live.id);
  }
}

/** Those whose owner left, and those that were warmed by hand. What a dead owner left is recovery's. */
async function adoptOrphans(engine: Engine, idle: readonly SandboxRecord[]): Promise<void> {
  const owners = new Set((await engine.ports.store.listOwners()).map(({ id }) => id));
  for (const { id, ownerId, version, provider } of idle) {
    if (owners.has(ownerId)) continue;
    engine.ports.watch?.(engine.ownerId, provider);
    await engine.ports.store.patchSandbox(id, { ...engine.ownership, heirs: [] }, version);
  }
}
