/** 1 GiB of output does not stay in this process, whichever way it goes. */
import { fork } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Growth, OutputPath } from '../../bench/output-path.ts';
import { requirement } from '../setup/requirements.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../bench/output-path.ts');
const LIMIT_MIB = 32;
/** V8 may enlarge the part of its heap in which chunks are dropped while they are, and as many again may be on their way out. */
const YOUNG_MIB = 32;

describe.runIf(await requirement('namespace'))('1 GiB of output', () => {
  it('grows the process by less than 32 MiB when it goes through run', async () => {
    expect((await growthOf('run')).total).toBeLessThan(LIMIT_MIB);
  });

  it('does so too when it goes through a callback, which is given every chunk for its own', async () => {
    expect((await growthOf('callback')).total).toBeLessThan(LIMIT_MIB);
  });

  it(
    'takes no more than a quarter of it did when it goes through the stream of a background command',
    { timeout: 180_000 },
    async () => {
      const { total, further } = await growthOf('stream');
      expect(total).toBeLessThan(LIMIT_MIB + YOUNG_MIB);
      expect(further).toBeLessThan(LIMIT_MIB);
    },
  );
});

function growthOf(outputPath: OutputPath): Promise<Growth> {
  const child = fork(PROGRAM, [outputPath], { execArgv: ['--import', 'tsx'] });
  return new Promise((resolve, reject) => {
    let growth: Growth | undefined;
    child.once('message', (message) => (growth = message as Growth));
    child.once('error', reject);
    child.once('close', (code) =>
      growth === undefined ? reject(new Error(`${outputPath} ended with ${code}`)) : resolve(growth),
    );
  });
}
