/** `npm run sim`: one seed with its trace, or many seeds over several processes. */
import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';
import { runSeed } from './run-seed.ts';
import type { SeedRange } from './run-seeds.ts';
import { describeFailure } from './run-seeds.ts';
import type { Told } from './worker.ts';

const USAGE = `usage: npm run sim -- [--seeds 1000] [--from 1] [--workers N] [--first] [--pools] [--theme NAME]
       npm run sim -- --seed N [--trace] [--pools]`;
const CHUNK = 100;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
      workers: { type: 'string', default: String(availableParallelism()) },
      trace: { type: 'boolean', default: false },
      first: { type: 'boolean', default: false },
      pools: { type: 'boolean', default: false },
      theme: { type: 'string' },
    },
  });
  if (values.seed !== undefined) return replay(Number(values.seed), values.trace, values.pools);
  const [from, count, workers] = [values.from, values.seeds, values.workers].map(Number) as [number, number, number];
  if (![from, count, workers].every((number) => Number.isSafeInteger(number) && number > 0)) {
    console.error(USAGE);
    return 64;
  }
  return runMany({ from, count, pools: values.pools, theme: values.theme }, workers, values.first);
}

async function replay(seed: number, isTraced: boolean, pools: boolean): Promise<number> {
  const result = await runSeed(seed, { trace: true, pools });
  if (isTraced) for (const line of result.trace) console.log(line);
  console.log(describeFailure(result, pools));
  console.log(`${result.steps} steps, ${Math.round(result.virtualMs / 1000)} s of virtual time`);
  return result.violation === undefined ? 0 : 1;
}

async function runMany(range: SeedRange, workers: number, isFirstEnough: boolean): Promise<number> {
  const startedAt = performance.now();
  const total = { seeds: 0, steps: 0, virtualMs: 0, failures: 0 };
  let toldAt = startedAt;
  const chunks = chunksOf(range);
  const tell = (told: Told): void => {
    total.seeds += 1;
    total.steps += told.steps;
    total.virtualMs += told.virtualMs;
    if (told.violation !== undefined) {
      total.failures += 1;
      console.log(describeFailure({ ...told, trace: [] }, range.pools));
    }
    if (performance.now() - toldAt < 5_000) return;
    toldAt = performance.now();
    console.error(`${total.seeds} of ${range.count} seeds, ${total.failures} violations`);
  };
  const isOver = (): boolean => isFirstEnough && total.failures > 0;
  const directory = await mkdtemp(path.join(tmpdir(), 'sublet-sim-'));
  try {
    const worker = await compileWorker(directory);
    await Promise.all(Array.from({ length: workers }, () => drive(worker, chunks, tell, isOver)));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const hours = Math.round(total.virtualMs / 3_600_000);
  console.log(
    `${total.seeds} seeds, ${total.failures} violations; ${total.steps} steps, ${hours} h of virtual time in ${seconds.toFixed(1)} s`,
  );
  return total.failures === 0 ? 0 : 1;
}

function chunksOf({ from, count, ...rest }: SeedRange): SeedRange[] {
  return Array.from({ length: Math.ceil(count / CHUNK) }, (_, index) => ({
    from: from + index * CHUNK,
    count: Math.min(CHUNK, count - index * CHUNK),
    ...rest,
  }));
}

/** One worker, fed with chunks until none is left. */
function drive(file: string, chunks: SeedRange[], tell: (told: Told) => void, isOver: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = fork(file, { execArgv: [] });
    const next = (): void => {
      const chunk = isOver() ? undefined : chunks.shift();
      if (chunk === undefined) worker.disconnect();
      else worker.send(chunk);
    };
    worker.on('message', (message: Told | 'done') => {
      if (message === 'done') next();
      else if (!isOver()) tell(message);
    });
    worker.on('error', reject);
    worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
    next();
  });
}

/** As one file of plain JavaScript: without a loader's wrappers around every function a seed takes two thirds of the time. */
async function compileWorker(directory: string): Promise<string> {
  const file = path.join(directory, 'worker.mjs');
  const bundle = await rolldown({
    input: path.join(import.meta.dirname, 'worker.ts'),
    platform: 'node',
    external: /^node:/,
  });
  await bundle.write({ file, format: 'esm' });
  await bundle.close();
  return file;
}

process.exitCode = await main();
