/** Many seeds in this process, one after the other. */
import type { SeedResult } from './run-seed.ts';
import { runSeed } from './run-seed.ts';
import { themeOf } from './theme.ts';

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  /** The histories of pools of these seeds. */
  readonly pools?: boolean | undefined;
  /** Only those that are about this. */
  readonly theme?: string | undefined;
}

export interface RunSeedsOptions {
  readonly stopAtFirst?: boolean | undefined;
  readonly onSeed?: ((result: SeedResult) => void) | undefined;
}

export interface SeedsResult {
  readonly seeds: number;
  readonly steps: number;
  readonly failures: readonly SeedResult[];
}

/** A promise that is rejected and that nobody listens to counts as a failure of the seed in which it was. */
export async function runSeeds(range: SeedRange, options: RunSeedsOptions = {}): Promise<SeedsResult> {
  const { from, count, pools, theme } = range;
  const failures: SeedResult[] = [];
  const stopListening = listenForUnhandled();
  // Thousands of errors are made and none is printed: their stacks cost more than all the rest.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  let seeds = 0;
  let steps = 0;
  try {
    for (let seed = from; seed < from + count; seed++) {
      if (theme !== undefined && themeOf(seed) !== theme) continue;
      const result = await withUnhandled(await runSeed(seed, { pools }));
      seeds += 1;
      steps += result.steps;
      if (result.violation !== undefined) failures.push(result);
      options.onSeed?.(result);
      if (failures.length > 0 && options.stopAtFirst === true) break;
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    stopListening();
  }
  return { seeds, steps, failures };
}

/** How a failed seed is told. */
export function describeFailure({ seed, violation }: SeedResult, pools?: boolean): string {
  if (violation === undefined) return `seed ${seed}: nothing is wrong`;
  const { law, message, at } = violation;
  return `seed ${seed}, after ${(at / 1000).toFixed(3)} s: ${law}: ${message}\n  replay: npm run sim -- --seed ${seed} --trace${pools === true ? ' --pools' : ''}`;
}

const unhandled: string[] = [];

function listenForUnhandled(): () => void {
  const listener = (cause: unknown): void => void unhandled.push(cause instanceof Error ? cause.message : 'no error');
  process.on('unhandledRejection', listener);
  return () => void process.off('unhandledRejection', listener);
}

// They are told of only when the event loop turns.
async function withUnhandled(result: SeedResult): Promise<SeedResult> {
  await new Promise((resolve) => setImmediate(resolve));
  const [cause] = unhandled.splice(0);
  if (cause === undefined || result.violation !== undefined) return result;
  const message = `a rejection that nobody handles: ${cause}`;
  return { ...result, violation: { law: 'errors are handled', message, at: result.virtualMs } };
}
