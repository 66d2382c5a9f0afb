import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { SubletError } from '../../src/core/errors.ts';
import { requirement } from '../setup/requirements.ts';
import { canRun, openWorld, sh, signal } from './world.ts';

const world = await openWorld();
const run = promisify(execFile);

/** A root file system of one program. */
async function busyboxRoot(): Promise<string> {
  const root = join(await world.directory(), 'root');
  for (const path of ['bin', 'etc', 'usr/share', 'home/someone', 'dev'])
    await mkdir(join(root, path), { recursive: true });
  for (const path of [join(root, '..'), root]) await chmod(path, 0o755);
  const { stdout } = await run('sh', ['-c', 'command -v busybox']);
  await copyFile(stdout.trim(), join(root, 'bin/busybox'));
  const { stdout: applets } = await run(join(root, 'bin/busybox'), ['--list']);
  for (const applet of applets.split('\n').filter((name) => name !== '' && name !== 'busybox'))
    await symlink('busybox', join(root, 'bin', applet));
  await writeFile(join(root, 'etc/motd'), 'an image of its own\n');
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/workspace:/bin/sh\n');
  return root;
}

async function tarball(root: string): Promise<string> {
  const file = `${root}.tar.gz`;
  await run('tar', ['--create', '--gzip', '--file', file, '--directory', root, '.']);
  await chmod(file, 0o644);
  return file;
}

describe.runIf(canRun && (await requirement('busybox')))('an image', () => {
  it.each(['directory', 'tarball'])(
    'given as a %s has its own programs and files, and the same walls',
    async (form) => {
      const root = await busyboxRoot();
      const sandbox = await world.create({ image: form === 'directory' ? root : await tarball(root) });
      expect((await sh(sandbox, 'readlink -f /bin/ls; cat /etc/motd; id -un; ls /usr')).stdout).toBe(
        '/bin/busybox\nan image of its own\nagent\nshare\n',
      );
      await sandbox.files.write('a b/ü', new Uint8Array([0, 255, 10]));
      expect([...(await sandbox.files.read('a b/ü'))]).toEqual([0, 255, 10]);
      expect((await sandbox.files.list('.')).map((info) => info.name)).toEqual(['a b']);
      const command = await sandbox.commands.start('echo from the background');
      await command.wait();
      expect(Buffer.from((await command.output('stdout', 0)).data).toString()).toBe('from the background\n');
      for (const attempt of [
        'echo x >/etc/motd',
        'echo x >/bin/new',
        'mount -t tmpfs none /tmp',
        'unshare -r true',
        'mknod /tmp/d c 1 3',
        'cat /etc/shadow',
      ]) {
        expect((await sh(sandbox, attempt)).exitCode, attempt).not.toBe(0);
      }
      expect((await sh(sandbox, "grep -h -E '^Cap(Prm|Eff|Amb)' /proc/[0-9]*/status | sort -u")).stdout).toMatch(
        /^(Cap...:\t0+\n){3}$/u,
      );
      expect((await sh(sandbox, 'ls -A /home')).stdout).toBe('sandbox\n');
      expect((await sandbox.commands.run('sleep 60', { timeoutMs: 300 })).timedOut).toBe(true);
    },
  );

  it('is entered by another process, paused and stopped like the default one', async () => {
    const sandbox = await world.create({ image: await busyboxRoot(), ephemeral: false });
    await sandbox.files.write('note', 'kept');
    const other = await world.open();
    await other.pause?.(sandbox.ref, signal);
    await other.resume?.(sandbox.ref, signal);
    await other.stop?.(sandbox.ref, signal);
    await other.start?.(sandbox.ref, signal);
    expect(await (await other.attach(sandbox.ref, signal))?.files.readText('note')).toBe('kept');
  });
});

describe.runIf(canRun)('a broken image', () => {
  const broken = async (image: string): Promise<SubletError> => {
    const error = await world.create({ image }).catch((cause: unknown) => cause);
    if (!SubletError.is(error)) throw new Error(`not an error of ours: ${String(error)}`);
    return error;
  };

  it('is refused in words, and nothing is left', async () => {
    const directory = await world.directory();
    await chmod(directory, 0o755);
    await writeFile(join(directory, 'no.tar'), 'this is no archive');
    await mkdir(join(directory, 'empty'));
    await mkdir(join(directory, 'no-shell/bin'), { recursive: true });
    const cases: readonly (readonly [image: string, says: RegExp])[] = [
      [join(directory, 'missing'), /cannot be read/u],
      [join(directory, 'no.tar'), /cannot be unpacked/u],
      [join(directory, 'empty'), /neither bin nor usr/u],
      [join(directory, 'no-shell'), /no working sh/u],
    ];
    for (const [image, says] of cases) {
      const error = await broken(image);
      expect([error.code, error.message]).toEqual(['CONFIG_INVALID', expect.stringMatching(says)]);
      expect(error.hint).toBeDefined();
    }
    expect((await run('find', [join(world.stateDir, 'sandboxes'), '-mindepth', '1'])).stdout).toBe('');
  });
});
