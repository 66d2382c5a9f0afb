/** One more sandbox of a pool: made like any other, unless there are enough by now, and put to sleep if sleepers are wanted. */
import { termsFor } from '../../core/pool-policy.ts';
import type { PoolCounts } from '../../core/pool-settings.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Engine } from '../engine.ts';
import { makeSandbox, prepareSandbox } from '../make-sandbox.ts';
import { pauseSandbox } from '../move-sandbox.ts';
import type { PoolPlan } from './pool-plan.ts';

/** undefined when the pool is full. Rejects as any create does; then nothing of it is left. */
export async function makeForPool(
  engine: Engine,
  plan: PoolPlan,
  counts: PoolCounts,
  keep = false,
): Promise<SandboxRecord | undefined> {
  const { name, lane, settings, scope } = plan;
  const terms = termsFor(settings, plan.wanted.network, engine.now(), randomShare(engine));
  const wanted = keep ? { ...plan.wanted, policy: { ...plan.wanted.policy, onExit: 'keep' as const } } : plan.wanted;
  const cause = `for pool ${name}`;
  const prepared = await prepareSandbox(engine, {
    wanted,
    kind: 'execution',
    sessionKey: undefined,
    cause,
    pool: { pool: name, lane, terms },
  });
  const { store } = engine.ports;
  const live = await makeSandbox(
    engine,
    prepared,
    (row) => store.pools.admit(row, scope, settings.maxTotal),
    undefined,
  );
  if (live === undefined) return undefined;
  engine.tallies.count(name, 'made');
  const { record } = live;
  const isForSleep = counts.idle >= settings.minIdle && counts.waiting === 0 && counts.paused < settings.minPaused;
  if (!isForSleep) return record;
  // Whoever was faster has it now.
  return (await pauseSandbox(engine, record, 'kept paused', { version: record.version })) ?? record;
}

function randomShare(engine: Engine): number {
  const [byte = 0] = engine.config.random(1);
  return byte / 255;
}
