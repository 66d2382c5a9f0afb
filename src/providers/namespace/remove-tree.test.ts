/** Trees that several remove at once, or that nobody may enter. */
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { beginToRemove, removeTree } from './remove-tree.ts';

let root = '';

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'sublet-remove-'));
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

it.each([
  ['beginToRemove', beginToRemove],
  ['removeTree', removeTree],
] as const)('%s goes on past what others have just removed', async (name, remove) => {
  for (let round = 0; round < 20; round++) {
    const dir = await tree(`${name}-${round}`);
    await Promise.all([remove(dir), remove(dir), remove(dir)]);
    expect(await readdir(root)).not.toContain(`${name}-${round}`);
  }
});

it('removes what not even its owner may enter', async () => {
  const dir = await tree('closed');
  await chmod(join(dir, 'd0'), 0o000);
  await removeTree(dir);
  await removeTree(dir);
  expect(await readdir(root)).not.toContain('closed');
});

async function tree(name: string): Promise<string> {
  const dir = join(root, name);
  for (const inner of ['d0', 'd1', 'd2']) {
    await mkdir(join(dir, inner), { recursive: true });
    await Promise.all(Array.from({ length: 20 }, (_, file) => writeFile(join(dir, inner, `f${file}`), '')));
  }
  return dir;
}
