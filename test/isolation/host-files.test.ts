import { execFile } from 'node:child_process';
import { access, constants, open, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { canRun, openWorld, sh } from './world.ts';

const SECRET = `marker-${process.pid}-of-the-host`;
const world = await openWorld();

describe.runIf(canRun)('the files of the host', () => {
  it('include no shadow file and no accounts of the host', async () => {
    const sandbox = await world.create();
    expect((await sh(sandbox, 'cat /etc/shadow /etc/gshadow /etc/sudoers /proc/*/root/etc/shadow')).stdout).toBe('');
    expect((await sh(sandbox, 'cut -d: -f1 /etc/passwd')).stdout).toBe('root\nsandbox\nnobody\n');
  });

  it('include no home, no temporary file, nothing of the state directory', async () => {
    const sandbox = await world.create();
    const homes = [await world.directory(), world.stateDir];
    if (await isWritable(homedir())) homes.push(await world.directory(homedir()));
    for (const home of homes) {
      const path = join(home, 'marker');
      await writeFile(path, SECRET, { mode: 0o666 });
      const tries = [
        '',
        '/proc/1/root',
        '/proc/self/root',
        '/proc/1/cwd/../../../..',
        '../../../../..',
        '/dev/fd/../../../..',
      ];
      const script = `cat ${tries.map((before) => `${before}${path}`).join(' ')}; for p in /proc/[0-9]*; do cat $p/root${path} $p/cwd/../../..${path}; done`;
      const { stdout, exitCode } = await sh(sandbox, script);
      expect([stdout, exitCode]).toEqual(['', 1]);
    }
  });

  it('end at the root: nothing but the image and the sandbox’s own directories is there', async () => {
    const sandbox = await world.create();
    const names = (await sh(sandbox, 'ls -A /; ls -A /home /run /var')).stdout.split(/\s+/u);
    const known = [
      'bin',
      'sbin',
      'lib',
      'lib32',
      'lib64',
      'libx32',
      'usr',
      'nix',
      'dev',
      'etc',
      'home',
      'proc',
      'run',
      'tmp',
      'var',
      'workspace',
      'sandbox',
      'sublet',
    ];
    expect(names.filter((name) => name !== '' && !name.endsWith(':') && !known.includes(name))).toEqual([]);
    expect((await sh(sandbox, 'ls -A /sys /mnt /root /boot /var/run /home/sandbox')).stdout.trim()).toBe(
      '/home/sandbox:',
    );
  });

  it('cannot be written, and neither can what is ours', async () => {
    const sandbox = await world.create();
    const targets = [
      '/x',
      '/etc/x',
      '/etc/passwd',
      '/usr/x',
      '/bin/sh',
      '/run/x',
      '/run/sublet/x',
      '/run/sublet/channel/x',
      '/run/sublet/scripts/armed',
      '/dev/x',
      '/home/x',
      '/var/x',
    ];
    for (const target of targets) expect((await sh(sandbox, `echo changed >>${target}`)).exitCode, target).not.toBe(0);
    const removals =
      'rm -rf /run/sublet; rm -f /run/sublet/channel/* /run/sublet/scripts/*; mv /run/sublet /tmp/; chmod -R 777 /run /etc /usr/bin/env';
    expect((await sh(sandbox, removals)).exitCode).not.toBe(0);
    expect((await sh(sandbox, 'cat /run/sublet/scripts/armed; ls /run/sublet/channel')).stdout).toMatch(
      /eval[^]*first\.control[^]*first\.status/u,
    );
    expect((await sh(sandbox, 'echo still here')).stdout).toBe('still here\n');
  });

  it('are not reached through a descriptor that the manager was started with', async () => {
    const directory = await world.directory();
    await writeFile(join(directory, 'marker'), SECRET, { mode: 0o644 });
    const handle = await open(directory, 'r');
    try {
      const escape = 'cat /proc/[0-9]*/fd/*/marker; for p in /proc/[0-9]*; do ls -l $p/fd; done';
      const { output, child } = await world.manager({}, escape, { stdio: handle.fd });
      expect(child.exitCode).toBeNull();
      expect(output).toContain('/dev/null');
      expect(output).not.toContain(SECRET);
      expect(output).not.toContain(directory);
    } finally {
      await handle.close();
    }
  });

  it('gain nothing: a sandbox writes in its own directory only', async () => {
    const sandbox = await world.create();
    await sh(sandbox, 'for d in /workspace /tmp /home/sandbox /var/tmp /dev/shm; do echo x >$d/written; done');
    const { stdout } = await promisify(execFile)('find', [world.stateDir, '-name', 'written']);
    const disk = join(world.stateDir, 'sandboxes', sandbox.ref.name, 'disk');
    expect(stdout.trim().split('\n').sort()).toEqual(
      ['home', 'tmp', 'workspace'].map((part) => join(disk, part, 'written')),
    );
  });
});

describe.runIf(canRun)('the host’s environment', () => {
  it('is in no process of the sandbox', async () => {
    process.env['SUBLET_TEST_MARKER'] = SECRET;
    const sandbox = await world.create();
    const search = (word: string): Promise<string> =>
      sandbox.commands
        .run(`cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c ${word}`, { env: { GIVEN: 'given-to-it' } })
        .then((result) => result.stdout.trim());
    delete process.env['SUBLET_TEST_MARKER'];
    expect(await search(SECRET)).toBe('0');
    expect(Number(await search('given-to-it'))).toBeGreaterThan(0);
  });
});

describe.runIf(canRun)('another sandbox', () => {
  it('shows neither its files nor its processes', async () => {
    const [mine, other] = await Promise.all([world.create(), world.create()]);
    await other.files.write('/workspace/theirs', SECRET);
    await other.files.write('/tmp/theirs', SECRET);
    await other.commands.start(['sleep', '4321']);
    const disk = join(world.stateDir, 'sandboxes', other.ref.name, 'disk/workspace/theirs');
    const script = `cat ${disk} /workspace/theirs /tmp/theirs; for p in /proc/[0-9]*; do cat $p/root/workspace/theirs $p/cwd/theirs $p/root${disk}; tr '\\0' ' ' <$p/cmdline; done`;
    const { stdout } = await sh(mine, script);
    expect(stdout).not.toContain(SECRET);
    expect(stdout).not.toContain('sleep 4321');
    expect(await other.files.readText('/workspace/theirs')).toBe(SECRET);
  });
});

async function isWritable(directory: string): Promise<boolean> {
  return access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}
