/** Trees that several remove at once, or that nobody may enter. */
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { beginToClear, removeSmall, removeTree } from './remove-tree.ts';

let root = '';

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'sublet-remove-'));
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

it('goes on past what others have just removed', async () => {
  for (let round = 0; round < 20; round++) {
    const dir = await tree(`shared-${round}`);
    await Promise.all([removeTree(dir), removeTree(dir), removeTree(dir)]);
    expect(await readdir(root)).not.toContain(`shared-${round}`);
  }
});

it('removes what not even its owner may enter', async () => {
  const dir = await tree('closed');
  await chmod(join(dir, 'd0'), 0o000);
  await removeTree(dir);
  await removeTree(dir);
  expect(await readdir(root)).not.toContain('closed');
});

it('removes a few small files at once, and leaves what is more to others', async () => {
  const few = join(root, 'few');
  await mkdir(few);
  for (const name of ['record', 'mounts']) await writeFile(join(few, name), '');
  expect([removeSmall(few), removeSmall(few)]).toEqual([true, true]);
  const more = await tree('more');
  expect(removeSmall(more)).toBe(false);
  expect(removeSmall(join(more, 'd0'))).toBe(false);
  expect(await readdir(join(more, 'd0'))).toHaveLength(20);
});

it('clears a disk that nobody has used, and looks into none that somebody has', async () => {
  for (const isUsed of [false, true]) {
    const [disk, channel] = [join(root, 'disk'), join(root, 'channel')];
    for (const name of ['workspace', 'home', 'tmp']) await mkdir(join(disk, name), { recursive: true });
    await mkdir(channel);
    if (isUsed) await writeFile(join(disk, 'workspace', 'kept'), '');
    for (let twice = 0; twice < 2; twice++) await beginToClear({ disk, channel });
    const left = (await readdir(root, { recursive: true })).filter((path) => /^(disk|channel)/u.test(path));
    expect(left.toSorted()).toEqual(isUsed ? ['disk', 'disk/workspace', 'disk/workspace/kept'] : []);
  }
});

async function tree(name: string): Promise<string> {
  const dir = join(root, name);
  for (const inner of ['d0', 'd1', 'd2']) {
    await mkdir(join(dir, inner), { recursive: true });
    await Promise.all(Array.from({ length: 20 }, (_, file) => writeFile(join(dir, inner, `f${file}`), '')));
  }
  return dir;
}
