/** Every command that uses a sandbox, on real namespaces. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, readlink, rmdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROVIDERS } from '../../src/providers/registry.gen.ts';
import { requirement } from '../setup/requirements.ts';
import { type CliResult, Installation, MAIN } from './installation.ts';

const hasNamespaces = await requirement('namespace');

let sublet: Installation;

beforeAll(async () => {
  sublet = await Installation.create();
});

afterAll(() => sublet.remove());

describe.runIf(hasNamespaces)('sublet run', () => {
  it('passes output and exit status on, and leaves no sandbox', async () => {
    expect(await sublet.run(['run', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3'])).toEqual({
      status: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    expect(await sublet.output(['ls', '--quiet'])).toBe('');
    expect((await sublet.json(['ls', '--all', '--json']))[0]).toMatchObject({ state: 'destroyed', ephemeral: true });
  });

  it.each(['300k', '400k', '512k'])('never succeeds without the command, at a memory limit of %s', async (memory) => {
    const words = ['run', '--memory', memory, '--', 'sh', '-c', 'echo ran; exit 5'];
    for (let round = 0; round < 3; round++) {
      const { status, stdout, stderr } = await sublet.run(words);
      // A machine without a group for memory may have room enough.
      if (status !== 5) expect(stderr).toMatch(/^sublet: (CREATE_FAILED|SANDBOX_LOST|CONFIG_INVALID): /);
      expect([
        [5, 'ran\n'],
        [70, ''],
        [78, ''],
      ]).toContainEqual([status, stdout]);
    }
    expect(await sublet.output(['ls', '--quiet'])).toBe('');
  });

  it('takes the words after -- as they are', async () => {
    const odd = ['a b', "it's", '$HOME', '*', '', '--json', 'line\nbreak'];
    expect(await sublet.output(['run', '--', 'printf', '[%s]', ...odd])).toBe(odd.map((word) => `[${word}]`).join(''));
  });

  it('passes on what is piped in, binary and large', async () => {
    const input = Buffer.alloc(3_000_000, 'binary\0\u00ff');
    expect(await sublet.output(['run', '--', 'sh', '-c', 'wc -c'], { input })).toBe('3000000');
    expect(await sublet.output(['run', '--', 'head', '-c', '5'], { input: 'hello world' })).toBe('hello');
  });

  it('does not wait for input that the command does not want', async () => {
    const { child, ended } = sublet.start(['run', '--', 'true']);
    expect((await ended).status).toBe(0);
    child.stdin?.destroy();
  });

  it('kills a command that runs out of time and ends with 124', async () => {
    const { status, stderr } = await sublet.run(['run', '--timeout', '300ms', '--', 'sleep', '600']);
    expect(status).toBe(124);
    expect(stderr).toContain('ran out of time');
  });

  it('ends with 128+n when a signal killed the command', async () => {
    expect((await sublet.run(['run', '--', 'sh', '-c', 'kill -TERM $$'])).status).toBe(143);
  });

  it('prints the whole result as JSON, with the exit status unchanged', async () => {
    const { status, stdout } = await sublet.run(['run', '--json', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3']);
    expect(status).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      timedOut: false,
      truncated: false,
    });
  });

  it('sets variables, and passes on those named without a value', async () => {
    const args = [
      'run',
      '--env',
      'A=1',
      '-e',
      'FROM_HERE',
      '-e',
      'NOT_SET',
      '--',
      'sh',
      '-c',
      'echo $A $FROM_HERE ${NOT_SET-unset}',
    ];
    expect(await sublet.output(args, { env: { FROM_HERE: 'here' } })).toBe('1 here unset');
  });

  it('mounts read-only unless told otherwise', async () => {
    await mkdir(path.join(sublet.files, 'shown'), { mode: 0o777 });
    await writeFile(path.join(sublet.files, 'shown', 'a'), 'seen');
    const script = 'cat /m/a; touch /m/b 2>/dev/null && echo writable';
    expect((await sublet.run(['run', '--mount', 'shown:/m', '--', 'sh', '-c', script])).stdout).toBe('seen');
  });

  it('runs in the directory asked for', async () => {
    expect(await sublet.output(['run', '--cwd', '/usr', '--', 'pwd'])).toBe('/usr');
  });

  it('ends quietly when nobody reads any more, and leaves no sandbox', async () => {
    const { child, ended } = sublet.start(['run', '--', 'yes']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { status, stderr } = await ended;
    expect({ status, stderr }).toEqual({ status: 141, stderr: '' });
    expect(await sublet.output(['ls', '--quiet'])).toBe('');
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('stops the command and leaves no sandbox on %s', async (signal) => {
    const { child, ended, waitFor } = sublet.start(['run', '--', 'sh', '-c', 'echo started; sleep 600']);
    await waitFor('started');
    child.kill(signal);
    const { status, stderr } = await ended;
    expect(stderr).toBe(`sublet: ABORTED: Stopped by ${signal}.\n`);
    expect(status).toBe(130);
    expect(await sublet.output(['ls', '--quiet'])).toBe('');
  });
});

describe.runIf(hasNamespaces)('a thread', () => {
  it('finds the same sandbox again, and its profile', async () => {
    await sublet.output(['run', '--thread', 'diary', '--', 'sh', '-c', 'echo one > log']);
    expect(await sublet.output(['run', '--thread', 'diary', '--', 'cat', 'log'])).toBe('one');
    const [row, ...others] = await sublet.json(['ls', '--json']);
    expect(others).toEqual([]);
    expect(row).toMatchObject({ sessionKey: 'execution:anonymous:diary', ephemeral: false, state: 'paused' });
    expect(row?.['createdAt']).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(await sublet.output(['destroy-all-sessions', '--yes', '--json'])).toBe('{"destroyed":1}');
  });

  it('says when the sandbox had to be replaced', async () => {
    await sublet.output(['run', '--thread', 'lost', '--', 'sh', '-c', 'echo one > log']);
    await sublet.output(['destroy-all-sessions', '--yes']);
    const { status, stderr } = await sublet.run(['run', '--thread', 'lost', '--', 'cat', 'log']);
    expect(stderr).toMatch(/^sublet: note: /);
    expect(status).toBe(1);
    await sublet.output(['destroy-all-sessions', '--yes']);
  });
});

describe.runIf(hasNamespaces)('a sandbox by id', () => {
  let id: string;

  beforeAll(async () => {
    id = await sublet.output(['new', '--thread', 'alice:work']);
  });

  afterAll(async () => {
    await sublet.run(['rm', '--yes', id]);
  });

  it('runs commands, by any unique prefix', async () => {
    expect(await sublet.output(['exec', id.slice(0, 8), '--', 'sh', '-c', 'echo hi > a; pwd'])).toBe('/workspace');
    expect((await sublet.run(['exec', id, '--', 'sh', '-c', 'exit 9'])).status).toBe(9);
  });

  it('is refused by a prefix that several have, with the candidates', async () => {
    const second = await sublet.output(['new']);
    for (const prefix of ['sbx_', 'sbx']) {
      const { status, stderr } = await sublet.run(['inspect', prefix]);
      expect(status).toBe(64);
      expect(stderr).toMatch(/^sublet: SANDBOX_AMBIGUOUS: /);
      expect(stderr).toContain(id);
      expect(stderr).toContain(second);
    }
    expect(await sublet.output(['rm', '--yes', second])).toBe(second);
  });

  it('is paused, resumed and stopped, and keeps its files', async () => {
    const state = async (): Promise<unknown> => (await sublet.json(['inspect', id, '--json']))[0]?.['state'];
    await sublet.output(['exec', id, '--', 'sh', '-c', 'echo kept > kept']);
    await sublet.output(['resume', id]);
    expect(await state()).toBe('running');
    expect(await sublet.output(['pause', id])).toBe(id);
    expect(await state()).toBe('paused');
    expect(await sublet.json(['stop', '--json', id])).toMatchObject([{ id, state: 'stopped' }]);
    expect(await sublet.output(['exec', id, '--', 'cat', 'kept'])).toBe('kept');
  });

  it('is copied by a snapshot that only its owner can read', async () => {
    const [snapshot] = await sublet.json<{ id: string; bytes: number }>(['snapshot', '--json', id]);
    expect(snapshot?.bytes).toBeGreaterThan(0);
    expect(await sublet.output(['snapshot', id])).toMatch(/^\d+T\d+Z-[0-9a-f]{8} {2}\d+(\.\d)?KiB$/);
    const names = await readdir(path.join(sublet.home, 'snapshots'), { recursive: true });
    expect(names.filter((name) => name.endsWith('.tar'))).toHaveLength(2);
    expect(await sublet.output(['events', id])).toMatch(/snapshot\.taken .* asked by the CLI/);
  });

  it('is described in words and as JSON', async () => {
    expect(await sublet.output(['inspect', id])).toMatch(/^sessionKey +execution:alice:work$/m);
    expect(await sublet.json(['inspect', '--json', id])).toMatchObject([
      { id, provider: 'namespace', network: 'none' },
    ]);
    expect(await sublet.output(['ls'])).toMatch(
      new RegExp(`^${id} +(paused|running|stopped) +namespace +execution:alice:work +none `, 'm'),
    );
  });

  it('tells its story in events', async () => {
    const types = (await sublet.json(['events', id, '--json'])).map(({ type }) => type);
    expect(types).toEqual(
      expect.arrayContaining(['sandbox.creating', 'sandbox.running', 'sandbox.paused', 'sandbox.stopped']),
    );
    expect((await sublet.output(['events', '--limit', '1'])).split('\n')).toHaveLength(1);
  });

  it('reports what it uses, and counters in total', async () => {
    await sublet.output(['resume', id]);
    const [used] = await sublet.json(['metrics', id, '--json']);
    expect(used?.['processes']).toBeGreaterThan(0);
    expect(await sublet.output(['metrics', id])).toMatch(/^processes +\d+/m);
    const [all] = await sublet.json<{ total: { created: number } }>(['metrics', '--json']);
    expect(all?.total.created).toBeGreaterThan(0);
  });

  it('keeps the output of background commands for logs', async () => {
    const command = await sublet.output([
      'exec',
      '--detach',
      id,
      '--',
      'sh',
      '-c',
      'echo one; echo two >&2; sleep 0.2; echo three',
    ]);
    expect(await sublet.run(['logs', '--follow', id, command])).toEqual({
      status: 0,
      stdout: 'one\nthree\n',
      stderr: 'two\n',
    });
    expect((await sublet.run(['logs', id])).stdout).toBe('one\nthree\n');
    expect((await sublet.run(['logs', id, '--since', '4'])).stdout).toBe('three\n');
    expect(await sublet.json(['logs', '--list', '--json', id])).toMatchObject([
      { id: command, running: false, exitCode: 0 },
    ]);
    const { status, stderr } = await sublet.run(['logs', id, 'cmd_nothing']);
    expect(stderr).toMatch(/^sublet: COMMAND_NOT_FOUND: /);
    expect(status).toBe(66);
  });

  it('copies files in and out, through pipes too', async () => {
    const bytes = Buffer.from([0, 1, 2, 255, 10, 13]);
    await writeFile(path.join(sublet.files, '-odd name'), bytes, { mode: 0o755 });
    await sublet.output(['cp', './-odd name', `${id}:dir/`]);
    await sublet.output(['cp', `${id}:dir/-odd name`, 'back']);
    expect(await readFile(path.join(sublet.files, 'back'))).toEqual(bytes);
    expect((await stat(path.join(sublet.files, 'back'))).mode & 0o777).toBe(0o755);
    await sublet.output(['cp', '-', `${id}:piped`], { input: 'from a pipe' });
    expect(await sublet.output(['cp', `${id}:piped`, '-'])).toBe('from a pipe');
    const { status, stderr } = await sublet.run(['cp', `${id}:nothing`, '-']);
    expect([status, stderr.split(':')[1]]).toEqual([66, ' FILE_NOT_FOUND']);
  });

  it('refuses to copy a pipe or a device, and makes nothing of it', async () => {
    await promisify(execFile)('mkfifo', [path.join(sublet.files, 'fifo')]);
    for (const source of ['fifo', '/dev/zero']) {
      const { status, stderr } = await sublet.run(['cp', source, `${id}:special`]);
      expect(stderr).toContain(`${source} is neither a file nor a directory.`);
      expect(status).toBe(64);
    }
    expect(await sublet.output(['exec', id, '--', 'sh', '-c', 'ls -d special 2>/dev/null; true'])).toBe('');
  });

  it('leaves no part of a copy that was interrupted', async () => {
    const { child, ended } = sublet.start(['cp', '-', `${id}:half/cut`]);
    child.stdin?.write('first');
    const look = ['exec', id, '--', 'sh', '-c', 'find half -type f -exec cat {} + 2>/dev/null; true'];
    await expect.poll(() => sublet.output(look), { timeout: 20_000 }).toBe('first');
    child.kill('SIGINT');
    expect((await ended).status).toBe(130);
    expect(await sublet.output(['exec', id, '--', 'ls', '-A', 'half'])).toBe('');
  });

  it('copies out what a link leads to, with its mode', async () => {
    const script =
      'mkdir real; echo x >real/tool; chmod 750 real/tool; ln -s real door; ln -s real/tool alias; ln -s no dead';
    await sublet.output(['exec', id, '--', 'sh', '-c', script]);
    await sublet.output(['cp', `${id}:alias`, 'tool-out']);
    expect((await stat(path.join(sublet.files, 'tool-out'))).mode & 0o777).toBe(0o750);
    await sublet.output(['cp', `${id}:door`, 'door-out']);
    expect(await readFile(path.join(sublet.files, 'door-out', 'tool'), 'utf8')).toBe('x\n');
    expect((await sublet.run(['cp', `${id}:dead`, 'dead-out'])).status).toBe(66);
    await expect(stat(path.join(sublet.files, 'dead-out'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('copies directories in and out, links included, and nothing outside', async () => {
    const tree = path.join(sublet.files, 'tree');
    await mkdir(path.join(tree, 'deep'), { recursive: true });
    await writeFile(path.join(tree, 'deep', 'file'), 'content');
    await symlink('deep/file', path.join(tree, 'link'));
    await sublet.output(['cp', 'tree', `${id}:`]);
    await sublet.output([
      'exec',
      id,
      '--',
      'sh',
      '-c',
      'ln -s /etc/passwd tree/outside; ln -s ../../../.. tree/deep/up',
    ]);
    const { status, stderr } = await sublet.run(['cp', `${id}:tree`, 'copy']);
    expect(status).toBe(0);
    expect(await readFile(path.join(sublet.files, 'copy', 'deep', 'file'), 'utf8')).toBe('content');
    expect(await readlink(path.join(sublet.files, 'copy', 'link'))).toBe('deep/file');
    expect(stderr).toContain('left out ./outside');
    expect(stderr).toContain('left out ./deep/up');
    await sublet.output(['cp', `${id}:tree`, 'copy']);
    expect((await stat(path.join(sublet.files, 'copy', 'tree', 'deep', 'file'))).isFile()).toBe(true);
  });

  it('goes on with the others when one move fails', async () => {
    const { status, stdout, stderr } = await sublet.run(['pause', 'sbx_nothing', id]);
    expect(stderr).toMatch(/^sublet: SANDBOX_NOT_FOUND: /);
    expect(stdout).toBe(`${id}\n`);
    expect(status).toBe(66);
  });
});

describe.runIf(hasNamespaces)('sublet shell', () => {
  it('runs what is piped in and is gone afterwards', async () => {
    expect(await sublet.output(['shell'], { input: 'cd /usr\npwd\n' })).toBe('/usr');
    expect(await sublet.output(['ls', '--quiet'])).toBe('');
  });
});

describe.runIf(hasNamespaces)('sublet events --follow', () => {
  it('shows what other processes do, until it is interrupted', async () => {
    const { child, ended, waitFor } = sublet.start(['events', '--follow', '--json']);
    await waitFor('');
    await sublet.output(['run', '--', 'true']);
    await waitFor('"type":"sandbox.destroyed"');
    child.kill('SIGINT');
    expect((await ended).status).toBe(0);
  });
});

describe.runIf(hasNamespaces)('an image', () => {
  it('given by name stands for its path, and is missed when the path is gone', async () => {
    const root = path.join(sublet.files, 'rootfs');
    await mkdir(root);
    await sublet.output(['images', 'add', 'bare', root]);
    const unusable = await sublet.run(['run', '--image', 'bare', '--', 'true']);
    expect(unusable.stderr).toContain(`${root} does not look like a root file system`);
    await rmdir(root);
    const missing = await sublet.run(['run', '--image', 'bare', '--', 'true']);
    expect(missing.stderr).toContain(`The image "bare" was at ${root} and is there no more.`);
    expect([unusable.status, missing.status]).toEqual([78, 78]);
  });
});

describe('sublet doctor', () => {
  it('says in plain words what this machine allows', async () => {
    const { status, stdout } = await sublet.run(['doctor']);
    expect(stdout).toMatch(/^store: usable\n {2}ok {4}sqlite:.*: /);
    expect(stdout).toMatch(/^namespace: /m);
    expect(stdout).toMatch(/^local: /m);
    expect(status).toBe(hasNamespaces ? 0 : 1);
    const probes = await sublet.json<{ provider?: string; usable: boolean; findings: unknown[] }>(['doctor', '--json']);
    expect(probes.map(({ provider }) => provider)).toEqual([undefined, ...Object.keys(PROVIDERS)]);
    expect(probes.every(({ findings }) => findings.length > 0)).toBe(true);
  });
});

describe.runIf(hasNamespaces)('a home without room', () => {
  const within = async (options: string, script: string): Promise<CliResult> => {
    const home = path.join(sublet.files, `mounted-${options.replaceAll(/\W/g, '')}`);
    await mkdir(home, { recursive: true });
    const line = `mount -t tmpfs -o ${options} none "$SUBLET_HOME" || exit 99; sublet() { "${process.execPath}" "${MAIN}" "$@"; }; ${script}`;
    const run = promisify(execFile)('unshare', ['-rm', 'sh', '-c', line], { env: sublet.env({ SUBLET_HOME: home }) });
    return run.then(
      ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        status: code,
        stdout,
        stderr,
      }),
    );
  };

  it.each(['ro', 'size=16k'])('is not usable, says doctor of one mounted with %s', async (options) => {
    const { status, stdout } = await within(options, 'sublet doctor local');
    expect(stdout).toMatch(/^store: not usable here\n {2}FAIL/);
    expect(status).toBe(1);
  });

  it('is freed by the way that the error names', async () => {
    const script = `export SUBLET_SANDBOX=local; id=$(sublet new) || exit 98
      sublet exec $id -- sh -c 'head -c 9M /dev/zero >fill' 2>/dev/null
      sublet rm --yes $id && exit 97
      rm -f "$SUBLET_HOME"/providers/*/sandboxes/*/*/fill; sublet rm --yes $id >/dev/null; sublet ls -q`;
    const { status, stdout, stderr } = await within('size=8M', script);
    expect(stderr).toContain('STORE_FAILED');
    expect(stderr).toMatch(/du -sh \S+\/providers/);
    expect([status, stdout]).toEqual([0, '']);
  });
});

describe('sublet providers', () => {
  it('lists the adapters with what they can do', async () => {
    const rows = await sublet.json<{ id: string; capabilities: string[] }>(['providers', '--json']);
    expect(rows.find(({ id }) => id === 'namespace')?.capabilities).toContain('isolation');
    const text = await sublet.output(['providers']);
    expect(text).toMatch(/^local +usable$/m);
    expect(text.indexOf('local ')).toBeLessThan(text.indexOf('e2b '));
    expect(text).toMatch(/^e2b +There is no key for E2B\.\n +Set E2B_API_KEY/m);
  });
});
