/** One pool, several processes, one SQLite file: each sandbox is one taker's, clean, and none is left. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { open } from 'sublet';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requirement } from '../setup/requirements.ts';

const PROCESSES = 3;
const LEASES = 12;
const MOST = 5;
const FIXTURE = path.join(import.meta.dirname, 'pool-taker.fixture.ts');

interface Had {
  readonly id: string;
  readonly from: number;
  readonly until: number;
  readonly found: string;
}

describe.runIf(await requirement('namespace')).each(['never', 'reset'])(
  'one pool of several processes, reuse %s',
  (reuse) => {
    let home = '';
    const children: ChildProcess[] = [];

    beforeEach(async () => {
      home = await mkdtemp(path.join(tmpdir(), 'sublet-scale-'));
      await mkdir(path.join(home, 'sandboxes'));
      const pools = { default: { minIdle: 2, maxTotal: MOST, createConcurrency: 2, reuse } };
      await writeFile(path.join(home, 'sandboxes', 'shared.json'), JSON.stringify({ provider: 'namespace', pools }));
    });

    afterEach(async () => {
      for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
      // The watchdog of the one that was killed may still be leaving.
      await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    });

    it(
      'gives each sandbox to one taker at a time, clean, and none outlives the last process',
      { timeout: 120_000 },
      async () => {
        const processes = await Promise.all(Array.from({ length: PROCESSES }, () => startProcess(home)));
        children.push(...processes);
        const had = (await Promise.all(processes.map((child) => take(child)))).flat();

        expect(had).toHaveLength(PROCESSES * LEASES);
        expect(had.filter(({ found }) => found !== 'mine\n')).toEqual([]);
        for (const one of had)
          for (const other of had)
            if (one !== other && one.id === other.id)
              expect(one.until <= other.from || other.until <= one.from).toBe(true);
        if (reuse === 'never') expect(new Set(had.map(({ id }) => id)).size).toBe(had.length);

        // The first dies as it is; the others find what it had and leave in good order.
        const [first, ...others] = processes as [ChildProcess, ...ChildProcess[]];
        const died = once(first, 'exit');
        first.kill('SIGKILL');
        await died;
        await Promise.all(others.map((child) => leave(child)));
        const sublet = await open({ home, env: { PATH: process.env['PATH'] }, handleSignals: false });
        // The watchdog of the one that died may be at it too.
        const left = async (): Promise<unknown> => {
          await sublet.sweep();
          return [
            ...(await sublet.sandboxes.list()),
            ...(await readdir(path.join(home, 'providers', 'namespace', 'sandboxes'))),
          ];
        };
        await expect.poll(left, { timeout: 60_000 }).toEqual([]);
        const { hits, misses } = await sublet.pools.stats('shared');
        await sublet.close();
        // What the one that was killed had counted and not written is not among them.
        expect(hits + misses).toBeGreaterThanOrEqual((PROCESSES - 1) * LEASES);
      },
    );
  },
);

async function startProcess(home: string): Promise<ChildProcess> {
  const child = fork(FIXTURE, ['shared', String(LEASES), '3'], {
    env: { PATH: process.env['PATH'], HOME: home, SUBLET_HOME: home },
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await nextMessage(child);
  return child;
}

function take(child: ChildProcess): Promise<readonly Had[]> {
  child.send('go');
  return nextMessage(child) as Promise<readonly Had[]>;
}

async function leave(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.send('leave');
  await ended;
}

/** Rejects when the process ends without one. */
function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`ended with status ${code}`)));
  });
}
