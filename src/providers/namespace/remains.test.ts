import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makerMark } from '../../provider/posix/maker-mark.ts';
import { draftName } from './layout.ts';
import { removeRemains, removeReserved } from './remains.ts';

let stateDir = '';
beforeEach(async () => (stateDir = await mkdtemp(join(tmpdir(), 'sublet-remains-'))));
afterEach(() => rm(stateDir, { recursive: true, force: true }));

describe('what killed processes left', () => {
  it('goes when its maker is dead, and stays when that lives or may live', async () => {
    const mark = makerMark();
    const dead = mark.replace(/-\d+-$/, '-1-');
    const elsewhere = mark.replace(/^[0-9a-f]{8}/, '00000000');
    const drafts = [mark, dead, elsewhere].map((maker) => draftName(join(stateDir, 'roots/abc'), maker, 'u-u-i-d'));
    for (const dir of [...drafts, join(stateDir, 'roots/abc')]) await mkdir(join(dir, 'etc'), { recursive: true });
    await removeRemains(stateDir, undefined);
    const left = await readdir(join(stateDir, 'roots'));
    expect(left.toSorted()).toEqual([`abc.${elsewhere}u-u-i-d.new`, `abc.${mark}u-u-i-d.new`, 'abc'].toSorted());
  });

  it('may be a spare sandbox that was never asked for', async () => {
    const [mine, dead] = [makerMark(), makerMark().replace(/-\d+-$/, '-1-')];
    for (const maker of [mine, dead])
      await mkdir(draftName(join(stateDir, 'spares/spare'), maker, 'one'), { recursive: true });
    await removeRemains(stateDir, undefined);
    expect(await readdir(join(stateDir, 'spares'))).toEqual([`spare.${mine}one.new`]);
  });

  it('goes after a day where nobody can tell', async () => {
    const old = join(stateDir, 'images/abc.0b1d2c3e-4f56-4a7b-8c9d-0e1f2a3b4c5d.new');
    await mkdir(old, { recursive: true });
    await removeRemains(stateDir, undefined);
    expect(await readdir(join(stateDir, 'images'))).toHaveLength(1);
    await utimes(old, 0, 0);
    await removeRemains(stateDir, undefined);
    expect(await readdir(join(stateDir, 'images'))).toEqual([]);
  });

  it('may be a reserved name that never got a record', async () => {
    const dir = join(stateDir, 'sandboxes/reserved');
    await mkdir(dir, { recursive: true });
    await removeReserved(dir);
    expect(await readdir(join(stateDir, 'sandboxes'))).toEqual(['reserved']);
    await utimes(dir, 0, 0);
    await removeReserved(dir);
    expect(await readdir(join(stateDir, 'sandboxes'))).toEqual([]);
  });
});
