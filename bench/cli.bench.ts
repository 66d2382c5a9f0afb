/** The command line from a cold start: the built program, as it is installed. */
import path from 'node:path';
import { bareSpawn } from './bare-spawn.ts';
import type { Figure } from './figure.ts';
import { compare } from './measure.ts';
import { withScratchHome } from './scratch-home.ts';

const MAIN = path.resolve(import.meta.dirname, '../dist/cli/main.cjs');
const ROUNDS = 30;

export async function measure(): Promise<readonly Figure[]> {
  return withScratchHome(async (home) => {
    const env = { PATH: process.env['PATH'], SUBLET_HOME: home };
    const against = (...command: readonly string[]): ReturnType<typeof compare> =>
      compare({
        ours: () => bareSpawn([process.execPath, MAIN, 'run', '--', ...command], env),
        raw: () => bareSpawn([process.execPath, '-e', '0'], env),
        rounds: ROUNDS,
      });
    const [quiet, speaking] = [await against('true'), await against('echo', 'hi')];
    return [
      { name: 'sublet run -- true', unit: 'ms', ...quiet, against: 'node -e 0', target: { of: 'ratio', atMost: 2.5 } },
      { name: 'sublet run -- echo hi', unit: 'ms', ...speaking, against: 'node -e 0' },
    ];
  });
}
