/** A sandbox for one holder beside a pool that is full: made for it, and destroyed after it. */
import type { Lease } from '../../core/api.ts';
import { SubletError } from '../../core/errors.ts';
import type { PoolLeaseOptions } from '../../core/pools.ts';
import type { Engine } from '../engine.ts';
import { takeLease } from '../kept-lease.ts';
import { toLease } from '../lease-sandbox.ts';
import { makeSandbox, prepareSandbox } from '../make-sandbox.ts';
import { endWith } from './after-use.ts';
import { discard } from './discard.ts';
import type { PoolPlan } from './pool-plan.ts';

export async function leaseOutside(
  engine: Engine,
  plan: PoolPlan,
  options: PoolLeaseOptions,
  env: Readonly<Record<string, string>>,
): Promise<Lease> {
  const cause = `pool ${plan.name} is full`;
  const request = { wanted: plan.wanted, kind: 'execution', sessionKey: undefined, cause } as const;
  const prepared = await prepareSandbox(engine, request);
  const live = await makeSandbox(engine, prepared, (row) => engine.ports.store.insertSandbox(row), options.signal);
  if (live === undefined) throw new SubletError('INTERNAL', 'A sandbox outside its pool was not made.');
  try {
    const kept = await takeLease(engine, live.record, options);
    kept.giveBack = endWith(engine, kept, live.record);
    return toLease(engine, kept, live, env);
  } catch (cause_) {
    await discard(engine, live.record, 'not leased').catch(() => {});
    throw cause_;
  }
}
