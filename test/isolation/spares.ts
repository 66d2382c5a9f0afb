/** Sandboxes that are made before anybody asks, as a test sees them. */
import { readdir, stat } from 'node:fs/promises';
import type { ExpectedSandbox, SandboxProvider } from '../../src/provider/provider.ts';
import { until } from './until.ts';

export const PLAIN: ExpectedSandbox = { kind: 'execution', network: 'none', ephemeral: true, expectsOneCommand: true };

export function spares(stateDir: string): Promise<readonly string[]> {
  return readdir(`${stateDir}/spares`).catch(() => []);
}

export async function inode(path: string): Promise<number> {
  return (await stat(path)).ino;
}

/** One spare, whole. Returns what tells its directory apart. */
export async function makeSpareReady(provider: SandboxProvider, stateDir: string): Promise<number> {
  await provider.warm?.(PLAIN);
  await until(async () => (await spares(stateDir)).length === 1, 'a spare is begun');
  const [name = ''] = await spares(stateDir);
  await until(
    async () => (await readdir(`${stateDir}/spares/${name}/channel`).catch(() => [])).length === 3,
    'the spare has its pipes',
  );
  return inode(`${stateDir}/spares/${name}`);
}
