import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ensureHome, homePaths } from './home.ts';

describe('homePaths', () => {
  it('is ~/.sublet', () => {
    expect(homePaths({}).home).toBe(join(homedir(), '.sublet'));
    expect(homePaths({ SUBLET_HOME: '' }).home).toBe(join(homedir(), '.sublet'));
  });

  it('is moved by SUBLET_HOME, made absolute', () => {
    expect(homePaths({ SUBLET_HOME: 'x/y' }).home).toBe(resolve('x/y'));
  });

  it('has everything inside the home', () => {
    const paths = homePaths({ SUBLET_HOME: '/h' });
    expect(paths).toMatchObject({ profilesDir: '/h/sandboxes', configEnv: '/h/config.env', database: '/h/sublet.db' });
    expect(paths.providerStateDir('namespace')).toBe('/h/providers/namespace');
  });
});

describe('ensureHome', () => {
  it('makes it for its owner only, and leaves the mode of one that is there', async () => {
    const root = await mkdtemp(join(tmpdir(), 'sublet-home-'));
    try {
      const paths = homePaths({ SUBLET_HOME: join(root, 'a/b') });
      await ensureHome(paths);
      expect((await stat(paths.home)).mode & 0o777).toBe(0o700);
      await chmod(paths.home, 0o750);
      await ensureHome(paths);
      expect((await stat(paths.home)).mode & 0o777).toBe(0o750);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });

  it('says what is in the way', async () => {
    const root = await mkdtemp(join(tmpdir(), 'sublet-home-'));
    try {
      const file = join(root, 'file');
      await writeFile(file, '');
      for (const home of [file, join(file, 'below'), join(file, 'far/below')])
        await expect(ensureHome(homePaths({ SUBLET_HOME: home }))).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
          message: expect.stringMatching(/cannot be made: something .* no directory/u),
          hint: expect.stringContaining('SUBLET_HOME'),
        });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });

  it.runIf(process.platform === 'linux').each([
    ['/proc/no-such-place', 'CONFIG_INVALID'],
    ['/proc/no-such-place/below', 'CONFIG_INVALID'],
    ['/sys/no-such-place', 'PERMISSION_DENIED'],
  ])('gives up %s, where nothing can be made', async (home, code) => {
    await expect(ensureHome(homePaths({ SUBLET_HOME: home }))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(home),
      hint: expect.stringContaining('SUBLET_HOME'),
    });
  });
});
