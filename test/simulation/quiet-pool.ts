/** When nobody asks any more and the troubles cease, a pool that somebody keeps has what it is to have, and no more. */
import type { PoolDefinition } from '../../src/core/pools.ts';
import { isLive } from '../../src/core/states.ts';
import type { Simulation } from './simulation.ts';
import type { RunningManager } from './start-process.ts';
import { POOL } from './start-process.ts';

/**
 * Longer than the breaker’s longest wait, the idle time-out and the rise of a ceiling; and than it takes to know that another
 * machine is dead, to sweep up what it had, and to make anew what that made room for.
 */
const QUIET_MS = 8 * 60_000;
const MAX_STEPS = 40_000;
const LOOKS = 3;
const BETWEEN_LOOKS_MS = 7_000;

export async function checkQuietPool(simulation: Simulation, running: readonly RunningManager[]): Promise<void> {
  const { pool } = simulation.theme;
  if (pool === undefined) return;
  simulation.trace.note('', () => 'it is quiet');
  simulation.isWindingDown = true;
  simulation.climate.heal();
  for (const { process } of running) process.thaw();
  await simulation.run(() => false, simulation.timeline.now + QUIET_MS, MAX_STEPS);
  // One that is too old is just being replaced when it is looked at, now and then.
  for (let looks = 1; looks < LOOKS && faultOf(simulation, pool) !== undefined; looks++)
    await simulation.run(() => false, simulation.timeline.now + BETWEEN_LOOKS_MS, MAX_STEPS);
  const fault = simulation.violation === undefined ? faultOf(simulation, pool) : undefined;
  if (fault !== undefined)
    simulation.violate('14 pools are clean and fair', `after ${QUIET_MS / 60_000} quiet minutes ${fault}`);
}

/** Undefined when it has what it is to have, or nobody keeps it. */
function faultOf(
  { tables, laws, sandboxes, isClockSet, capabilities }: Simulation,
  pool: PoolDefinition,
): string | undefined {
  const keeps = [...tables.keepers.values()].some(
    ({ ownerId, pool: name }) => name === POOL && laws.truth.processOf(ownerId)?.isRunning === true,
  );
  if (!keeps || isClockSet) return undefined;
  const { minIdle = 0, minPaused = 0, maxTotal = 0 } = pool;
  const rows = [...sandboxes.values()].filter((row) => row.pool === POOL && isLive(row.state));
  const waiting = rows.filter(({ lease, state }) => lease === undefined && (state === 'running' || state === 'paused'));
  const canPause = capabilities.has('pause');
  const wanted = Math.min(minIdle + (canPause ? minPaused : 0), maxTotal - (rows.length - waiting.length));
  const facts = `${waiting.length} wait of ${rows.length}, ${minIdle} running and ${minPaused} paused are wanted, at most ${maxTotal}`;
  if (waiting.length < wanted) return `the pool is not full: ${facts}`;
  return waiting.length > minIdle + minPaused ? `the pool has not shrunk: ${facts}` : undefined;
}
