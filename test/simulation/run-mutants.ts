/** `npm run sim:mutants`: runs the simulation on a copy of the source for each mutant, until it is found. */
import { spawn } from 'node:child_process';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { applyMutant } from './apply-mutant.ts';
import type { Mutant } from './mutants.ts';
import { MUTANTS } from './mutants.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const COPIED = ['src', 'test/simulation', 'package.json', 'tsconfig.json'];

interface Verdict {
  readonly mutant: Mutant;
  readonly isFound: boolean;
  readonly story: string;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '40000' },
      workers: { type: 'string', default: String(availableParallelism()) },
      only: { type: 'string', default: '' },
      pools: { type: 'boolean', default: false },
    },
  });
  const waiting = MUTANTS.filter(({ name, pools }) => name.includes(values.only) && (!values.pools || pools === true));
  const verdicts: Verdict[] = [];
  const hunt = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await tryMutant(mutant, values.seeds);
      verdicts.push(verdict);
      console.log(`${verdict.isFound ? 'found ' : 'MISSED'}  ${mutant.name}\n        ${verdict.story}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.workers) }, hunt));
  const missed = verdicts.filter(({ isFound }) => !isFound).length;
  console.log(`${verdicts.length - missed} of ${verdicts.length} mutants found within ${values.seeds} seeds each`);
  return missed === 0 ? 0 : 1;
}

async function tryMutant(mutant: Mutant, seeds: string): Promise<Verdict> {
  const copy = await mkdtemp(path.join(tmpdir(), 'sublet-mutant-'));
  try {
    for (const part of COPIED) await cp(path.join(ROOT, part), path.join(copy, part), { recursive: true });
    await symlink(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
    const mutated = applyMutant(mutant, (file) => readFileSync(path.join(copy, file), 'utf8'));
    for (const [file, text] of mutated) await writeFile(path.join(copy, file), text);
    const { status, output } = await simulate(copy, seeds, mutant);
    return { mutant, isFound: status === 1, story: output.split('\n')[0] ?? '' };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

function simulate(
  directory: string,
  seeds: string,
  { pools, theme }: Mutant,
): Promise<{ readonly status: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const main = path.join(directory, 'test/simulation/main.ts');
    const where = [...(pools === true ? ['--pools'] : []), ...(theme === undefined ? [] : ['--theme', theme])];
    const run = spawn(
      process.execPath,
      ['--import', 'tsx', main, '--seeds', seeds, '--workers', '1', '--first', ...where],
      {
        cwd: directory,
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    let output = '';
    run.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    run.on('error', reject);
    run.on('close', (status) => resolve({ status, output }));
  });
}

process.exitCode = await main();
