/** A process that runs the seeds it is sent, and says of each how it went. */
import type { SeedResult } from './run-seed.ts';
import type { SeedRange } from './run-seeds.ts';
import { runSeeds } from './run-seeds.ts';

/** What a worker says of each seed. */
export interface Told extends Pick<SeedResult, 'seed' | 'violation' | 'steps' | 'virtualMs'> {}

process.on('message', (range: SeedRange) => {
  void runSeeds(range, {
    onSeed: ({ seed, violation, steps, virtualMs }) => process.send?.({ seed, violation, steps, virtualMs }),
  }).then(() => process.send?.('done'));
});
