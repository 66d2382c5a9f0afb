/** Sandboxes that are made before anybody asks: nobody's until they have a name, and gone when nobody asks. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SandboxHandle, SandboxProvider, SandboxSpec } from '../../src/provider/provider.ts';
import type { SpareSeen } from './spares-process.ts';
import { inode, makeSpareReady, PLAIN, spares as sparesIn } from './spares.ts';
import { canRun, isRoot, openWorld, sh, signal } from './world.ts';

const world = await openWorld();
const run = promisify(execFile);

const spares = (): Promise<readonly string[]> => sparesIn(world.stateDir);

let provider: SandboxProvider;
let made = 0;
beforeEach(async () => (provider = await world.open()));
afterEach(() => provider.close());

async function create(wish: Partial<SandboxSpec>): Promise<SandboxHandle> {
  return provider.create({ ...PLAIN, name: `spare-${made++}`, labels: {}, ...wish }, signal);
}

const makeReady = (): Promise<number> => makeSpareReady(provider, world.stateDir);

describe.runIf(canRun)('a spare sandbox', () => {
  it('becomes the next plain one for one command, and nothing of it stays behind', async () => {
    const spare = await makeReady();
    const sandbox = await create({});
    expect(await inode(`${world.stateDir}/sandboxes/${sandbox.ref.name}`)).toBe(spare);
    expect(await spares()).toEqual([]);
    const { stdout, exitCode } = await sh(sandbox, 'ls -A /workspace /tmp "$HOME"; pwd; exit 3');
    expect([stdout, exitCode]).toEqual(['/home/sandbox:\n\n/tmp:\n\n/workspace:\n/workspace\n', 3]);
    await provider.destroy(sandbox.ref, signal);
    expect(await readdir(`${world.stateDir}/sandboxes`)).toEqual([]);
  });

  const OTHERS: readonly Partial<SandboxSpec>[] = [
    { expectsOneCommand: false },
    { ephemeral: false },
    { limits: { pids: 50 } },
    { contextId: 'kept' },
    { mounts: [{ source: '/usr/share', target: '/share' }] },
  ];
  it.each(OTHERS)('is left alone by whoever wants %j', async (wish) => {
    const spare = await makeReady();
    const sandbox = await create(wish);
    expect(await inode(`${world.stateDir}/sandboxes/${sandbox.ref.name}`)).not.toBe(spare);
    expect(await spares()).toHaveLength(1);
    await provider.destroy(sandbox.ref, signal);
  });

  it.runIf(isRoot)('is discarded when the host has mounted something since', async () => {
    const program = join(import.meta.dirname, 'spares-process.ts');
    const line = ['--mount', process.execPath, '--import', 'tsx', program, await world.directory()];
    const { stdout } = await run('unshare', line, { timeout: 55_000, killSignal: 'SIGKILL' });
    expect(JSON.parse(stdout)).toEqual({ isTaken: false, sparesLeft: [], said: 'works\n' } satisfies SpareSeen);
  });

  it('goes when its provider is closed', async () => {
    await makeReady();
    await provider.close();
    expect(await spares()).toEqual([]);
  });
});
