import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SlowFirst } from './test/setup/slow-first.ts';

export default defineConfig({
  test: {
    globalSetup: ['./test/setup/postgres-keeper.ts'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Tests start real sandboxes: more workers than cores only makes each slower.
    maxWorkers: Math.min(4, availableParallelism()),
    // Of those that say that they may run side by side: an engine's containers are waited for more than worked on.
    maxConcurrency: 3,
    pool: 'forks',
    sequence: { sequencer: SlowFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Real processes on a busy machine: a second try tells a race in a test from a fault. Who needs one is named at
    // the end. What is random by design says `retry: 0`, and a property fails with its first counterexample.
    retry: 1,
    reporters: ['default', './test/setup/standstill-reporter.ts', './test/setup/summary-reporter.ts'],
  },
});
