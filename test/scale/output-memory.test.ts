/** 1 GiB of output does not stay in this process, whichever way it goes. */
import { fork } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Growth, OutputPath } from '../../bench/output-path.ts';
import { requirement } from '../setup/requirements.ts';

const PROGRAM = path.resolve(import.meta.dirname, '../../bench/output-path.ts');
const LIMIT_MIB = 32;
/** Node collects chunks that a callback was given, and has dropped, when 32 MiB of them have gathered; as many again may be on their way out. */
const COLLECTED_MIB = 64;

describe.runIf(await requirement('namespace'))('1 GiB of output', () => {
  it('grows the process by less than 32 MiB when it goes through run', async () => {
    expect((await growthOf('run')).total).toBeLessThan(LIMIT_MIB);
  });

  it('stays with what Node collects late when it goes through a callback, and takes no more than a quarter of it did', async () => {
    const { total, further } = await growthOf('callback');
    expect(total).toBeLessThan(LIMIT_MIB + COLLECTED_MIB);
    expect(further).toBeLessThan(LIMIT_MIB);
  });

  it('does the same when it goes through the stream of a background command', { timeout: 180_000 }, async () => {
    const { total, further } = await growthOf('stream');
    expect(total).toBeLessThan(LIMIT_MIB + COLLECTED_MIB);
    expect(further).toBeLessThan(LIMIT_MIB);
  });
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
