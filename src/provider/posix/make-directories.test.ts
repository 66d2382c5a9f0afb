import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeDirectories } from './make-directories.ts';

it('makes all that are missing, and leaves what is there', async () => {
  const root = await mkdtemp(join(tmpdir(), 'sublet-directories-'));
  try {
    const dir = join(root, 'a/b/c');
    makeDirectories(dir, 0o700);
    makeDirectories(dir, 0o755);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    await writeFile(join(root, 'file'), '');
    expect(() => makeDirectories(join(root, 'file/x'), 0o700)).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

it.runIf(process.platform === 'linux')('ends where none can be made', () => {
  expect(() => makeDirectories('/proc/no-such-place/a', 0o700)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
});
