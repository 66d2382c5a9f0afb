import { constants } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PipeStock } from './pipe-stock.ts';

describe('pipes in stock', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sublet-stock-'));
    await mkdir(join(directory, 'here'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const here = (...names: readonly string[]): string[] => names.map((name) => join(directory, 'here', name));
  const inStock = async (): Promise<number> => (await readdir(join(directory, 'pipes'))).length;

  it('are placed where they are asked for', async () => {
    await new PipeStock(directory).place(here('a', 'b'));
    for (const path of here('a', 'b')) {
      const { mode } = await stat(path);
      expect([mode & constants.S_IFMT, mode & 0o777]).toEqual([constants.S_IFIFO, 0o666]);
    }
  });

  it('are taken once, also by two who know of the same', async () => {
    const stock = new PipeStock(directory);
    await stock.place(here('a'));
    const [one, other] = [new PipeStock(directory), new PipeStock(directory)];
    await Promise.all([one.place(here('b', 'c', 'd')), other.place(here('e', 'f', 'g'))]);
    expect(await readdir(join(directory, 'here'))).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    expect(await inStock()).toBe(128 - 7);
  });

  it('are made ahead when few are left, and settled when that is over', async () => {
    const stock = new PipeStock(directory);
    await stock.place(here(...Array.from({ length: 120 }, (_, index) => String(index))));
    await stock.settled();
    expect(await inStock()).toBe(256 - 120);
  });
});
