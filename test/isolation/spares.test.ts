/** Sandboxes that are made before anybody asks: nobody's until they have a name, and gone when nobody asks. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExpectedSandbox, SandboxHandle, SandboxProvider, SandboxSpec } from '../../src/provider/provider.ts';
import { canRun, isRoot, openWorld, sh, signal, until } from './world.ts';

const world = await openWorld();
const run = promisify(execFile);
const PLAIN: ExpectedSandbox = { kind: 'execution', network: 'none', ephemeral: true, expectsOneCommand: true };

const spares = (): Promise<readonly string[]> => readdir(`${world.stateDir}/spares`).catch(() => []);
const inode = async (path: string): Promise<string> =>
  (await run('stat', ['-c', '%i', `${world.stateDir}/${path}`])).stdout;

let provider: SandboxProvider;
let made = 0;
beforeEach(async () => (provider = await world.open()));
afterEach(() => provider.close());

async function create(wish: Partial<SandboxSpec>): Promise<SandboxHandle> {
  return provider.create({ ...PLAIN, name: `spare-${made++}`, labels: {}, ...wish }, signal);
}

/** One spare, whole. Returns what tells its directory apart. */
async function makeReady(): Promise<string> {
  await provider.warm?.(PLAIN);
  await until(async () => (await spares()).length === 1, 'a spare is begun');
  const [name = ''] = await spares();
  await until(
    async () => (await readdir(`${world.stateDir}/spares/${name}/channel`).catch(() => [])).length === 3,
    'the spare has its pipes',
  );
  return inode(`spares/${name}`);
}

describe.runIf(canRun)('a spare sandbox', () => {
  it('becomes the next plain one for one command, and nothing of it stays behind', async () => {
    const spare = await makeReady();
    const sandbox = await create({});
    expect(await inode(`sandboxes/${sandbox.ref.name}`)).toBe(spare);
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
    expect(await inode(`sandboxes/${sandbox.ref.name}`)).not.toBe(spare);
    expect(await spares()).toHaveLength(1);
    await provider.destroy(sandbox.ref, signal);
  });

  it.runIf(isRoot)('is discarded when the host has mounted something since', async () => {
    const spare = await makeReady();
    // Below what every sandbox sees; onto itself, which hides nothing from anybody.
    const point = '/usr/share/doc';
    await run('mount', ['--bind', point, point]);
    try {
      const sandbox = await create({});
      expect(await inode(`sandboxes/${sandbox.ref.name}`)).not.toBe(spare);
      expect(await spares()).toEqual([]);
      expect((await sh(sandbox, 'echo works')).stdout).toBe('works\n');
      await provider.destroy(sandbox.ref, signal);
    } finally {
      await run('umount', [point]);
    }
  });

  it('goes when its provider is closed', async () => {
    await makeReady();
    await provider.close();
    expect(await spares()).toEqual([]);
  });
});
