/** What a caller is told who got nothing. */
import { SubletError } from '../../core/errors.ts';
import type { PoolCounts } from '../../core/pool-settings.ts';
import type { PoolKeeper } from './pool-keeper.ts';
import type { PoolPlan } from './pool-plan.ts';

/** With what there is of the pool, and why no more of it is made where that is known. */
export function exhaustedError(
  { name, settings }: PoolPlan,
  counts: PoolCounts | undefined,
  { lastError }: PoolKeeper,
  what: string,
): SubletError {
  const { total, idle, leased, waiting } = counts ?? {};
  const known = counts === undefined ? '' : ` (total=${total}, idle=${idle}, leased=${leased}, waiting=${waiting})`;
  const failing = lastError === undefined ? '' : ` Making more fails: ${lastError.message}`;
  return new SubletError('POOL_EXHAUSTED', `Pool "${name}" has no sandbox to give: ${what}${known}.${failing}`, {
    details: { pool: name, ...counts, maxTotal: settings.maxTotal },
    cause: lastError,
    hint:
      lastError === undefined
        ? 'Raise maxTotal or minIdle, release sooner, wait longer, or let whenFull be "create".'
        : 'See what is wrong with the provider: sublet doctor',
  });
}
