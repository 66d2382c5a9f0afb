/** Writes down, in one batch, what this process knows of its sandboxes' activity and has counted. */
import type { SandboxId } from '../core/ids.ts';
import type { Engine } from './engine.ts';

/** One write for all activity and one for all counters; none when there is nothing new. */
export async function flushActivity(engine: Engine, only?: SandboxId): Promise<void> {
  const now = engine.now();
  const due = [...engine.lives.values()].filter(
    (live) => (only === undefined || live.id === only) && (live.isBusy || live.isDirty),
  );
  const counts = only === undefined ? engine.takeCounts() : [];
  if (due.length > 0) await engine.ports.store.touch(due.map((live) => live.takeActivity(now)));
  if (counts.length > 0) await engine.ports.store.addToCounters(counts);
  const tallies = only === undefined ? engine.tallies.take() : [];
  if (tallies.length > 0) await engine.ports.store.pools.addToTallies(tallies);
}
