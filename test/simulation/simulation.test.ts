import { describe, expect, it } from 'vitest';
import { runSeed } from './run-seed.ts';
import { describeFailure, runSeeds } from './run-seeds.ts';

/** More of them: `npm run sim -- --seeds 100000`. */
const SEEDS = 3_000;
/** Each takes a hundred times as long: a pool is looked after also while nobody does anything. */
const POOL_SEEDS = 150;

describe('the simulation', () => {
  it('goes the same way with the same seed', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const [once, again] = [await runSeed(seed, { trace: true }), await runSeed(seed, { trace: true })];
      expect(again.trace).toEqual(once.trace);
      expect(once.trace.length).toBeGreaterThan(10);
    }
  });

  it('goes other ways with other seeds', async () => {
    const traces = new Set<string>();
    for (const seed of [1, 2, 3]) traces.add((await runSeed(seed, { trace: true })).trace.join('\n'));
    expect(traces.size).toBe(3);
  });

  it(`finds no broken law in ${SEEDS} seeds`, { timeout: 600_000 }, async () => {
    const { failures, seeds } = await runSeeds({ from: 1, count: SEEDS });
    expect(failures.map((failure) => describeFailure(failure))).toEqual([]);
    expect(seeds).toBe(SEEDS);
  });

  it(`finds no broken law in ${POOL_SEEDS} histories of pools`, { timeout: 600_000 }, async () => {
    const { failures, seeds } = await runSeeds({ from: 1, count: POOL_SEEDS, pools: true });
    expect(failures.map((failure) => describeFailure(failure, true))).toEqual([]);
    expect(seeds).toBe(POOL_SEEDS);
  });
});
