/** When nobody asks any more and the troubles cease, a pool that somebody keeps has what it is to have, and no more. */
import { isLive } from '../../src/core/states.ts';
import type { Simulation } from './simulation.ts';
import type { RunningManager } from './start-process.ts';
import { POOL } from './start-process.ts';

/** Longer than the breaker’s longest wait, the idle time-out, and the rise of a ceiling. */
const QUIET_MS = 5 * 60_000;
const MAX_STEPS = 40_000;

export async function checkQuietPool(simulation: Simulation, running: readonly RunningManager[]): Promise<void> {
  const { pool } = simulation.theme;
  if (pool === undefined) return;
  simulation.trace.note('', () => 'it is quiet');
  simulation.isWindingDown = true;
  simulation.climate.heal();
  for (const { process } of running) process.thaw();
  await simulation.run(() => false, simulation.timeline.now + QUIET_MS, MAX_STEPS);
  if (simulation.violation !== undefined) return;
  const keeps = [...simulation.tables.keepers.values()].some(
    ({ ownerId, pool: name }) => name === POOL && simulation.laws.truth.processOf(ownerId)?.isRunning === true,
  );
  if (!keeps || simulation.isClockSet) return;
  const { minIdle = 0, minPaused = 0, maxTotal = 0 } = pool;
  const rows = [...simulation.sandboxes.values()].filter((row) => row.pool === POOL && isLive(row.state));
  const waiting = rows.filter(({ lease, state }) => lease === undefined && (state === 'running' || state === 'paused'));
  const canPause = simulation.capabilities.has('pause');
  // Another machine takes five minutes to know that whoever was making one is dead.
  const coming = rows.filter(({ state }) => state === 'creating').length;
  const wanted = Math.min(minIdle + (canPause ? minPaused : 0) - coming, maxTotal - (rows.length - waiting.length));
  const tell = (what: string): void =>
    simulation.violate(
      '14 pools are clean and fair',
      `after ${QUIET_MS / 60_000} quiet minutes ${what}: ${waiting.length} wait of ${rows.length}, ${minIdle} running and ${minPaused} paused are wanted, at most ${maxTotal}`,
    );
  if (waiting.length < wanted) tell('the pool is not full');
  if (waiting.length > minIdle + minPaused) tell('the pool has not shrunk');
}
