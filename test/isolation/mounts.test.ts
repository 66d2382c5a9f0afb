import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { canRun, isRoot, openWorld, sh, signal } from './world.ts';

const world = await openWorld();

/** A host directory that everyone may write, were it not for the mount. */
async function source(): Promise<string> {
  const directory = await world.directory();
  await chmod(directory, 0o777);
  await writeFile(join(directory, 'data'), 'of the host');
  await chmod(join(directory, 'data'), 0o666);
  return directory;
}

describe.runIf(canRun)('a mount', () => {
  it('is read-only against every way to change it', async () => {
    const directory = await source();
    const sandbox = await world.create({ mounts: [{ source: directory, target: '/mnt/data' }] });
    const changes = [
      'echo x >>data',
      'echo x >new',
      'rm -f data',
      'mv data other',
      'chmod 600 data',
      'ln data hard',
      'mkdir new',
      'touch data',
      'ln data /workspace/hard',
      'mount -o remount,bind,rw /mnt/data',
    ];
    for (const change of changes)
      expect((await sandbox.commands.run(change, { cwd: '/mnt/data' })).exitCode, change).not.toBe(0);
    expect(await sandbox.files.readText('/mnt/data/data')).toBe('of the host');
    expect(await readdir(directory)).toEqual(['data']);
    expect(await readFile(join(directory, 'data'), 'utf8')).toBe('of the host');
  });

  it('is written where that was asked for, and only below it', async () => {
    const directory = await source();
    const sandbox = await world.create({ mounts: [{ source: directory, target: '/mnt/with space', readOnly: false }] });
    await sandbox.files.write('/mnt/with space/made', 'inside');
    expect((await sh(sandbox, 'echo x >"/mnt/with space/../outside"')).exitCode).not.toBe(0);
    expect(await readFile(join(directory, 'made'), 'utf8')).toBe('inside');
    expect((await sh(sandbox, 'ls -A /mnt')).stdout).toBe('with space\n');
  });

  it('of a file shows that file, also at a place where a sandbox has one', async () => {
    const directory = await source();
    const sandbox = await world.create({
      mounts: [
        { source: join(directory, 'data'), target: '/mnt/file' },
        { source: join(directory, 'data'), target: '/etc/hosts' },
      ],
    });
    expect((await sh(sandbox, 'cat /mnt/file /etc/hosts')).stdout).toBe('of the hostof the host');
    expect((await sh(sandbox, 'echo x >/mnt/file')).exitCode).not.toBe(0);
  });

  it.each(['/', '/proc', '/dev/x', '/etc', '/usr', '/run', '/run/sublet/x', '/home', '/workspace/x', '/usr/none'])(
    'cannot be at %s',
    async (target) => {
      const directory = await source();
      const creating = world.create({ mounts: [{ source: directory, target }] });
      await expect(creating).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    },
  );

  it('cannot be of the whole machine, by a link to it either', async () => {
    const directory = await source();
    await symlink('/', join(directory, 'all'));
    for (const all of ['/', join(directory, 'all')])
      await expect(world.create({ mounts: [{ source: all, target: '/host' }] })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
  });

  it('shows nothing above its source', async () => {
    const directory = await source();
    await mkdir(join(directory, 'shown'));
    const sandbox = await world.create({ mounts: [{ source: join(directory, 'shown'), target: '/mnt/shown' }] });
    expect((await sh(sandbox, 'cat /mnt/shown/../data; cd /mnt/shown && cat ../data')).stdout).toBe('');
  });

  // Only root can mount something for it on a host.
  if (isRoot) {
    it('is read-only in what is mounted below its source, too', async () => {
      const directory = await source();
      await mkdir(join(directory, 'below'));
      const script = 'mount -t tmpfs -o mode=777 none "$0/below" && exec "$@"';
      const { output } = await world.manager(
        { mounts: [{ source: directory, target: '/mnt/data' }] },
        'grep -c " /mnt/data/below " /proc/self/mountinfo; echo x >/mnt/data/below/new; mount -o remount,bind,rw /mnt/data/below; umount /mnt/data/below; ls -A /mnt/data/below',
        { prefix: ['unshare', '--mount', 'sh', '-c', script, directory] },
      );
      expect(output).toMatch(/^[12]\n/u);
      expect(output).toContain('Read-only file system');
      expect(output).not.toContain('new\n');
    });

    it('is read-only below a source that is a link', async () => {
      const directory = await source();
      await mkdir(join(directory, 'below'));
      await symlink(directory, `${directory}/link`);
      const script = 'mount -t tmpfs -o mode=777 none "$0/below" && exec "$@"';
      const { output } = await world.manager(
        { mounts: [{ source: join(directory, 'link'), target: '/mnt/data' }] },
        'echo x >/mnt/data/below/new; ls -A /mnt/data/below',
        { prefix: ['unshare', '--mount', 'sh', '-c', script, directory] },
      );
      expect(output).toContain('Read-only file system');
      expect(output).not.toContain('new\n');
    });

    it('shows nothing of what the host mounts below its source later', async () => {
      const directory = await source();
      await mkdir(join(directory, 'below'));
      const spec = { mounts: [{ source: directory, target: '/mnt/data' }] };
      // As on a host whose mounts are shared, which is what most distributions set up.
      const prefix = ['unshare', '--mount', '--propagation', 'shared'];
      const { child, name } = await world.manager(spec, 'true', { prefix });
      const mount = ['--target', String(child.pid), '--mount', 'mount', '-t', 'tmpfs', '-o', 'mode=777', 'none'];
      await promisify(execFile)('nsenter', [...mount, join(directory, 'below')]);
      const sandbox = await world.provider.attach({ name }, signal);
      const result = await sandbox?.commands.run(
        'grep -c " /mnt/data/below " /proc/self/mountinfo; echo x >/mnt/data/below/new',
      );
      expect(result?.stdout).toBe('0\n');
      expect(result?.stderr).toContain('Read-only file system');
    });
  }
});

describe.runIf(canRun)('a volume', () => {
  it('is shared by those who name it and outlives them', async () => {
    const [one, two, other] = await Promise.all([
      world.create({ contextId: 'a/../b c' }),
      world.create({ contextId: 'a/../b c' }),
      world.create({ contextId: 'a' }),
    ]);
    await one.files.write('note', 'from one');
    expect(await two.files.readText('note')).toBe('from one');
    expect(await other.files.exists('note')).toBe(false);
    await world.provider.destroy(one.ref, signal);
    await world.provider.destroy(two.ref, signal);
    const later = await world.create({ contextId: 'a/../b c' });
    expect(await later.files.readText('note')).toBe('from one');
    expect(await readdir(join(world.stateDir, 'volumes'))).toHaveLength(2);
  });
});
