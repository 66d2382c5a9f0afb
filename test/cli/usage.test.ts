/** What needs no sandbox: help, usage errors, configuration, images, completions. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { Installation, MAIN } from './installation.ts';

let sublet: Installation;

beforeAll(async () => {
  sublet = await Installation.create();
});

afterAll(() => sublet.remove());

describe('help', () => {
  it('is shown without arguments, and that is no error', async () => {
    const { status, stdout, stderr } = await sublet.run([]);
    expect([status, stderr]).toEqual([0, '']);
    for (const name of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
  });

  it.each(Object.keys(COMMANDS))('of %s has usage, options and examples', async (name) => {
    const text = await sublet.output([name, '--help']);
    expect(text).toContain(`\n  sublet ${name}`);
    expect(text).toContain('-h, --help');
    expect(text).toMatch(/\nExamples\n(.*\n)+ {2}.*sublet /);
    expect(await sublet.output(['help', name])).toBe(text);
  });

  it('has no colours in a pipe, and has them when forced', async () => {
    expect(await sublet.output(['--help'])).not.toContain('\u001b[');
    expect(await sublet.output(['--help'], { env: { FORCE_COLOR: '1' } })).toContain('\u001b[1m');
  });
});

describe.runIf(process.platform === 'linux')('a home that cannot be made', () => {
  it.each([['ls'], ['run', '--', 'true'], ['new'], ['images', 'add', 'x', '.'], ['config', 'set', 'E2B_API_KEY']])(
    'ends %s %s with the reason and what to do',
    async (...args) => {
      const env = { SUBLET_HOME: '/proc/no-such-place/home' };
      const { status, stdout, stderr } = await sublet.run(args, { env, input: 'key\n' });
      expect([status, stdout]).toEqual([78, '']);
      expect(stderr).toBe(
        'sublet: CONFIG_INVALID: The home /proc/no-such-place/home cannot be made: nothing can be made there.\n' +
          '  Set SUBLET_HOME to a directory that Sublet may write.\n',
      );
    },
  );

  it('is what doctor finds, without making it', async () => {
    const { status, stdout } = await sublet.run(['doctor', 'local'], {
      env: { SUBLET_HOME: '/proc/no-such-place/home' },
    });
    expect(status).not.toBe(0);
    expect(stdout).toContain('nothing can be made there');
    expect(stdout).not.toContain('made on first use');
  });
});

describe('usage errors', () => {
  it.each([
    [['rnu', '--', 'true'], 'There is no command "rnu".', 'Did you mean "sublet run"?'],
    [['run'], 'sublet run needs a command to run.', 'sublet run --help'],
    [['run', '--netwrok', 'none', '--', 'true'], 'sublet run has no option --netwrok.', 'Did you mean --network?'],
    [['run', '--network', 'wide', '--', 'true'], '--network is one of open, allowlist, none', ''],
    [['run', '--timeout', 'soon', '--', 'true'], '--timeout takes a duration', ''],
    [['run', '--timeout', '0', '--', 'true'], '--timeout takes a duration', ''],
    [['run', '--memory', 'much', '--', 'true'], '--memory takes a size', ''],
    [['run', '--mount', 'here', '--', 'true'], '--mount takes SRC:DST', ''],
    [['run', '--env', '1X=y', '--', 'true'], '--env takes NAME=VALUE', ''],
    [['run', '--thread', 'a:b:c:d', '--', 'true'], '"a:b:c:d" is not a session key', ''],
    [['inspect'], 'sublet inspect needs ID.', ''],
    [['cp', 'a', 'b'], 'Exactly one of SRC and DST is in a sandbox', ''],
    [['completion', 'tcsh'], 'SHELL is one of bash, zsh, fish', ''],
    [['images', 'add', 'x'], 'needs NAME and PATH', ''],
    [['rm', 'sbx_x'], 'there is no terminal to ask on', 'Add --yes'],
    [['destroy-all-sessions'], 'there is no terminal to ask on', 'Add --yes'],
  ])('%j ends with 64 and says what to type', async (args, message, hint) => {
    const { status, stdout, stderr } = await sublet.run(args);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^sublet: USAGE: /);
    expect(stderr).toContain(hint);
    expect([status, stdout]).toEqual([64, '']);
  });
});

describe('a provider that is none', () => {
  it('is told before anything else', async () => {
    const { status, stdout } = await sublet.run(['doctor', 'zz']);
    expect([status, stdout]).toEqual([66, '']);
  });
});

describe('an empty HOME', () => {
  it('does not make the home relative', async () => {
    const home = await sublet.output(['config', 'path'], { env: { HOME: '', SUBLET_HOME: '' } });
    expect(path.isAbsolute(home)).toBe(true);
  });
});

describe('an unknown id', () => {
  it.each([['inspect'], ['pause'], ['resume'], ['stop'], ['metrics'], ['events'], ['logs'], ['rm', '--yes']])(
    'given to %s ends with 66 and the error code',
    async (...args) => {
      const { status, stderr } = await sublet.run([...args, 'sbx_nothing']);
      expect(stderr).toMatch(/^sublet: SANDBOX_NOT_FOUND: /);
      expect(status).toBe(66);
    },
  );
});

describe('version', () => {
  it('is the package’s', async () => {
    const { version } = JSON.parse(await readFile(path.resolve('package.json'), 'utf8')) as { version: string };
    expect(await sublet.output(['version'])).toBe(version);
    expect(await sublet.output(['--version'])).toBe(version);
    expect(await sublet.json(['version', '--json'])).toMatchObject([{ version, node: process.versions.node }]);
  });
});

describe.runIf(process.platform === 'linux')('output that cannot be written', () => {
  it.each(['version', '--help'])('by %s ends with 74 and the reason, and nothing else', async (word) => {
    const line = ['-c', 'exec "$@" >/dev/full', 'sh', process.execPath, MAIN, word];
    const failed = promisify(execFile)('sh', line, { env: sublet.env() });
    await expect(failed).rejects.toMatchObject({
      code: 74,
      stderr: 'sublet: OUTPUT_LOST: The output cannot be written: ENOSPC: no space left on device, write\n',
    });
  });
});

describe('an answer that never comes', () => {
  it('is a failure that is told', async () => {
    const deaf = path.join(sublet.files, 'deaf.cjs');
    await writeFile(deaf, 'process.stdout.write = () => false;');
    const { status, stderr } = await sublet.run(['version'], { env: { NODE_OPTIONS: `--require=${deaf}` } });
    expect(stderr).toMatch(/^sublet: INTERNAL: The answer never came/);
    expect(status).toBe(70);
  });
});

describe('config', () => {
  it.each([['explain'], ['ls']])('%s warns as a run would', async (action) => {
    const env = { DEEPAGENTS_SANDBOX_AUTO_DELETE_MINUTES: 'bogus', SUBLET_HOME: path.join(sublet.files, 'warned') };
    await mkdir(env.SUBLET_HOME, { recursive: true });
    await writeFile(path.join(env.SUBLET_HOME, 'config.env'), 'A=b\n', { mode: 0o644 });
    const { status, stderr } = await sublet.run(['config', action], { env });
    expect(stderr).toMatch(/^sublet: warning: .*config\.env/m);
    if (action === 'explain') expect(stderr).toContain('warning: DEEPAGENTS_SANDBOX_AUTO_DELETE_MINUTES is ignored');
    expect(status).toBe(0);
  });

  it('says when SUBLET_LOG names no level', async () => {
    expect((await sublet.run(['ls'], { env: { SUBLET_LOG: 'loud' } })).stderr).toContain('SUBLET_LOG is ignored');
  });

  it('says where everything is', async () => {
    expect(await sublet.output(['config', 'path'])).toBe(sublet.home);
  });

  it('keeps keys in a file that only its owner can read, and never shows a value', async () => {
    const { stderr } = await sublet.run(['config', 'set', 'E2B_API_KEY=e2b_very_secret']);
    expect(stderr).toContain('history');
    expect(stderr).not.toContain('e2b_very_secret');
    await sublet.output(['config', 'set', 'OTHER_KEY'], { input: 'piped_secret\n' });
    const file = path.join(sublet.home, 'config.env');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).toBe('E2B_API_KEY=e2b_very_secret\nOTHER_KEY=piped_secret\n');
    const listed = await sublet.json(['config', 'ls', '--json']);
    expect(listed).toEqual([
      { kind: 'key', name: 'E2B_API_KEY' },
      { kind: 'key', name: 'OTHER_KEY' },
    ]);
    await sublet.output(['config', 'unset', 'OTHER_KEY']);
    expect(await readFile(file, 'utf8')).toBe('E2B_API_KEY=e2b_very_secret\n');
  });

  it('explains each value and where it came from', async () => {
    await mkdir(path.join(sublet.home, 'sandboxes'), { recursive: true });
    const profile = { provider: 'namespace', autoStopMinutes: 7 };
    await writeFile(path.join(sublet.home, 'sandboxes', 'mine.json'), JSON.stringify(profile));
    const rows = await sublet.json(['config', 'explain', 'mine', '--json'], {
      env: { SUBLET_SANDBOX_AUTO_DELETE_MINUTES: '90' },
    });
    expect(rows).toContainEqual({ path: 'autoStopMinutes', value: 7, source: 'profile mine.json' });
    expect(rows).toContainEqual({
      path: 'autoDeleteMinutes',
      value: 90,
      source: 'env SUBLET_SANDBOX_AUTO_DELETE_MINUTES',
    });
    expect(await sublet.output(['config', 'explain', 'mine'])).toMatch(/^autoStopMinutes +7 +profile mine\.json$/m);
  });

  it('lists a profile that is not valid with what is wrong', async () => {
    await writeFile(path.join(sublet.home, 'sandboxes', 'broken.json'), '{ "provider": "namespace", "autoStop": 1 }');
    const entries = await sublet.json(['config', '--json']);
    expect(entries).toContainEqual(
      expect.objectContaining({ kind: 'profile', name: 'broken', problem: expect.stringContaining('autoStop') }),
    );
    const { status, stderr } = await sublet.run(['run', '--sandbox', 'broken', '--', 'true']);
    expect(stderr).toMatch(/^sublet: CONFIG_INVALID: /);
    expect(status).toBe(78);
  });
});

describe('an unknown sandbox', () => {
  it('ends with 66 and suggests the nearest name', async () => {
    const { status, stderr } = await sublet.run(['run', '--sandbox', 'namespase', '--', 'true']);
    expect(stderr).toMatch(/^sublet: PROFILE_NOT_FOUND: /);
    expect(stderr).toContain('Did you mean "namespace"?');
    expect(status).toBe(66);
  });
});

describe('images', () => {
  it('are added, listed and forgotten by name', async () => {
    await writeFile(path.join(sublet.files, 'root.tar'), '');
    await mkdir(path.join(sublet.files, 'rootfs'));
    await sublet.output(['images', 'add', 'tarred', 'root.tar']);
    await sublet.output(['images', 'add', 'unpacked', './rootfs']);
    expect(await sublet.json(['images', '--json'])).toEqual([
      { name: 'tarred', kind: 'tarball', path: path.join(sublet.files, 'root.tar') },
      { name: 'unpacked', kind: 'directory', path: path.join(sublet.files, 'rootfs') },
    ]);
    await sublet.output(['images', 'rm', 'tarred']);
    expect((await sublet.json(['images', 'ls', '--json'])).map(({ name }) => name)).toEqual(['unpacked']);
    expect((await sublet.run(['images', 'rm', 'unpackd'])).stderr).toContain('Did you mean "unpacked"?');
    expect((await sublet.run(['images', 'add', '../x', 'root.tar'])).status).toBe(64);
  });
});

describe('completion', () => {
  it('completes commands, options and choices in bash', async () => {
    const script = path.join(sublet.files, 'completion.bash');
    await writeFile(script, await sublet.output(['completion', 'bash']));
    const complete = async (...words: readonly string[]): Promise<readonly string[]> => {
      const source =
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sublet; printf "%s\\n" "${COMPREPLY[@]}"';
      const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', source, 'bash', script, ...words]);
      return stdout.trim().split('\n');
    };
    expect(await complete('sublet', 'dest')).toEqual(['destroy-all-sessions']);
    expect(await complete('sublet', 'run', '--net')).toEqual(['--network']);
    expect(await complete('sublet', 'run', '--network', '')).toEqual(['open', 'allowlist', 'none']);
    expect(await complete('sublet', 'config', 'ex')).toEqual(['explain']);
    expect(await complete('sublet', 'hel')).toEqual(['help']);
    expect(await complete('sublet', 'help', 'dest')).toEqual(['destroy-all-sessions']);
  });

  it.each(['zsh', 'fish'])('for %s names every command', async (shell) => {
    const script = await sublet.output(['completion', shell]);
    for (const name of Object.keys(COMMANDS)) expect(script).toContain(name);
  });

  it('for zsh hides the colons of a placeholder, which would end it', async () => {
    expect(await sublet.output(['completion', 'zsh'])).toContain(String.raw`]:SRC\:DST`);
  });

  it.each(['bash', 'zsh', 'fish'])('for %s asks for ids where a copy may have one', async (shell) => {
    const lines = (await sublet.output(['completion', shell])).split('\n');
    const asks = { bash: "ids='yes'", zsh: '_sublet_ids', fish: 'sublet ls --quiet' }[shell] ?? '';
    expect(lines.some((line) => /\bcp\b/.test(line) && line.includes(asks))).toBe(true);
  });
});

describe('events and ls', () => {
  it('print nothing on standard output when there is nothing', async () => {
    expect(await sublet.output(['ls'])).toBe('');
    expect(await sublet.output(['ls', '--json'])).toBe('');
    expect(await sublet.output(['events'])).toBe('');
  });
});
