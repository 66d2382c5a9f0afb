/** What waits in a pool, looked through: what nobody may have goes, what is too many sleeps or goes, what nobody owns is adopted. */
import { tidyIdle } from '../../core/pool-policy.ts';
import type { PoolCounts } from '../../core/pool-settings.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Engine } from '../engine.ts';
import { describe } from '../engine.ts';
import { pauseSandbox } from '../move-sandbox.ts';
import { isElsewhere } from '../provider-call.ts';
import { discard } from './discard.ts';
import type { PoolPlan } from './pool-plan.ts';

const RESTING = ['running', 'paused', 'stopped'] as const;

export async function tidyPool(engine: Engine, plan: PoolPlan, counts: PoolCounts): Promise<void> {
  const { store } = engine.ports;
  const { name, settings, provider } = plan;
  const rows = await store.findSandboxes({ pool: name, states: RESTING, limit: Number.MAX_SAFE_INTEGER });
  await letGoOfOthers(engine, name, rows);
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

// A handle on what another process has taken holds connections and helper processes for nothing.
async function letGoOfOthers(engine: Engine, pool: string, rows: readonly SandboxRecord[]): Promise<void> {
  const ours = new Set(rows.filter(({ ownerId }) => ownerId === engine.ownerId).map(({ id }) => id));
  const strays = [...engine.lives.values()].filter(({ id, record }) => record.pool === pool && !ours.has(id));
  for (const { id } of strays) await engine.letGo(id);
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
