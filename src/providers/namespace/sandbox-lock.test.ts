import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../core/system-clock.ts';
import { makerMark } from '../../provider/posix/maker-mark.ts';
import { withLock } from './sandbox-lock.ts';

let dir = '';
beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'sublet-lock-'))));
afterEach(() => rm(dir, { recursive: true, force: true }));

const signal = new AbortController().signal;

describe('the lock of a sandbox', () => {
  it('lets one move go on at a time and leaves nothing', async () => {
    let inside = 0;
    let most = 0;
    const move = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
    };
    await Promise.all(Array.from({ length: 20 }, () => withLock(dir, systemClock, signal, move)));
    expect(most).toBe(1);
    expect(await readdir(dir)).toEqual([]);
  });

  it('is taken from a holder that was killed, by one of those who wait', async () => {
    let inside = 0;
    let most = 0;
    const move = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await readdir(dir);
      inside--;
    };
    for (let round = 0; round < 20; round++) {
      await symlink(dead(round), join(dir, 'lock'));
      await Promise.all(Array.from({ length: 4 }, () => withLock(dir, systemClock, signal, move)));
    }
    expect(most).toBe(1);
    expect(await readdir(dir)).toEqual([]);
  });

  it('is taken also when somebody was killed who was about to take it', async () => {
    await symlink(dead(0), join(dir, 'lock'));
    await symlink(dead(1), join(dir, `lock.${dead(0)}`));
    await expect(withLock(dir, systemClock, signal, async () => 'done')).resolves.toBe('done');
    expect(await readdir(dir)).toEqual([]);
  });

  it('stays with whoever has it when the sandbox was made anew meanwhile', async () => {
    const box = join(dir, 'box');
    await mkdir(box);
    await withLock(box, systemClock, signal, async () => {
      await rm(box, { recursive: true });
      await mkdir(box);
      await symlink(`${makerMark()}another`, join(box, 'lock'));
    });
    expect(await readdir(box)).toEqual(['lock']);
  });

  it('is not waited for longer than the caller wants', async () => {
    await symlink(`${makerMark()}lives`, join(dir, 'lock'));
    const reason = new Error('enough');
    const waiting = withLock(dir, systemClock, AbortSignal.abort(reason), async () => 'never');
    await expect(waiting).rejects.toBe(reason);
  });

  it('excludes nobody from what is gone, and is given back by a move that fails', async () => {
    await expect(withLock(join(dir, 'gone'), systemClock, signal, async () => 'done')).resolves.toBe('done');
    await mkdir(join(dir, 'box'));
    const failing = withLock(join(dir, 'box'), systemClock, signal, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await readdir(join(dir, 'box'))).toEqual([]);
  });
});

/** A holder that was killed. */
function dead(number: number): string {
  return makerMark().replace(/-\d+-$/, `-1-gone${number}`);
}
