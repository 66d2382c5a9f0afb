import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
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
});
