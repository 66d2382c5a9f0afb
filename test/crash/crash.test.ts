/** Real processes, killed at random moments and between random steps, on one home; `npm run crash` does it at length. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { createDatabase } from '../setup/postgres.ts';
import { requirement } from '../setup/requirements.ts';
import type { CrashReport } from './crash.ts';

const PROGRAM = path.join(import.meta.dirname, 'run.ts');
// Each try is another experiment: a second one proves nothing about the first.
const OPTIONS = { timeout: 8 * 60_000, retry: 0 };
const isRoot = process.getuid?.() === 0;

describe.runIf(await requirement('namespace'))('forty processes that are killed', () => {
  it('leave nothing behind and harm no neighbour', OPTIONS, () => expectNoFault(['--kills', '40']));
});

describe.runIf(await requirement('namespace'))('processes that are killed while they use E2B over loopback', () => {
  it('leave nothing at the service and touch nothing of others', OPTIONS, () =>
    expectNoFault(['--kills', '12', '--provider', 'e2b']),
  );
});

describe.runIf(await requirement('namespace'))('processes that are killed while they use Daytona over loopback', () => {
  it('leave nothing at the service and touch nothing of others', OPTIONS, () =>
    expectNoFault(['--kills', '10', '--provider', 'daytona', '--at-once', '3']),
  );
});

describe.runIf(await requirement('dockerd'))('processes that are killed over a Docker engine', () => {
  it('leave no container, volume or network behind and harm no neighbour', OPTIONS, () =>
    expectNoFault(['--kills', '10', '--provider', 'docker', '--at-once', '3']),
  );
});

describe.runIf(isRoot && (await requirement('user')))('an ordinary user’s processes that are killed', () => {
  it('leave nothing behind either', OPTIONS, () => expectNoFault(['--kills', '10', '--user']));
});

describe.runIf((await requirement('namespace')) && (await requirement('postgres')))(
  'processes that share a server and are killed',
  () => {
    it('leave nothing behind there either', OPTIONS, async () => {
      const database = await createDatabase();
      try {
        await expectNoFault(['--kills', '12'], { SUBLET_STORE: database.url });
      } finally {
        await database.drop();
      }
    });
  },
);

async function expectNoFault(options: readonly string[], extra: Readonly<Record<string, string>> = {}): Promise<void> {
  const { SUBLET_STORE: _own, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, '--json', ...options], {
    env: { ...env, ...extra },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  // Its first line is the seed, with which it can be done again.
  if (stdout === '') throw new Error(stderr);
  const report = JSON.parse(stdout) as CrashReport;
  expect(report.faults, stderr).toEqual([]);
  expect(report.neighbourLooks).toBeGreaterThan(0);
}
