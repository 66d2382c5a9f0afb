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
    await symlink(makerMark().replace(/-\d+-$/, '-1-gone'), join(dir, 'lock'));
    let inside = 0;
    let most = 0;
    const move = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
    };
    await Promise.all(Array.from({ length: 5 }, () => withLock(dir, systemClock, signal, move)));
    expect(most).toBe(1);
    expect(await readdir(dir)).toEqual([]);
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
