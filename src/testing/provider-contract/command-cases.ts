/** Commands: exit codes, arguments, directory and environment. */
import assert from 'node:assert/strict';
import { assertExit, assertRejects, outputOf, type ProviderCase } from './provider-case.ts';

const ODD_TEXTS = [
  '',
  ' ',
  "it's",
  '"quoted"',
  '$HOME `id` $(id)',
  'a\nb\n',
  '\\n \\',
  '*',
  '-n',
  '--',
  '; exit 9',
  '=x',
  'ünï 漢字 🦊',
  '\t\x01\x7f',
];

export const commandCases: readonly ProviderCase[] = [
  {
    name: 'reports the exit code as it is',
    async run({ create }) {
      const { commands } = await create();
      for (const code of [0, 1, 3, 126, 255]) assertExit(await commands.run(`exit ${code}`), code);
      assertExit(await commands.run(['sh', '-c', 'exit 7']), 7);
    },
  },
  {
    name: 'a command that does not exist ends with 127',
    async run({ create }) {
      const { commands } = await create();
      assertExit(await commands.run('sublet-no-such-command'), 127);
      assertExit(await commands.run(['sublet-no-such-command', 'x']), 127);
    },
  },
  {
    name: 'a command that was ended by a signal has no invented exit code',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run('kill -9 $$');
      assert.ok(result.exitCode === null || result.exitCode === 137, `exit ${result.exitCode}`);
      assert.equal(result.timedOut, false);
    },
  },
  {
    name: 'keeps standard output and standard error apart',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run('echo out; echo err >&2; echo out2');
      assert.deepEqual([result.stdout, result.stderr], ['out\nout2\n', 'err\n']);
      assert.deepEqual([result.stdoutBytes, result.stderrBytes, result.truncated], [9, 4, false]);
    },
  },
  {
    name: 'a command can open /dev/stdout and /dev/stderr',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run('echo a >/dev/stdout; echo b >/dev/stderr');
      assertExit(result, 0);
      assert.deepEqual([result.stdout, result.stderr], ['a\n', 'b\n']);
    },
  },
  {
    name: 'an array is run without a shell: every argument arrives as it is',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run(['printf', '[%s]', ...ODD_TEXTS]);
      assertExit(result, 0);
      assert.equal(result.stdout, ODD_TEXTS.map((text) => `[${text}]`).join(''));
    },
  },
  {
    name: 'an argument or a command with a NUL byte is refused',
    async run({ create }) {
      const { commands } = await create();
      await assertRejects(commands.run(['echo', 'a\0b']), 'USAGE');
      await assertRejects(commands.run('echo a\0b'), 'USAGE');
    },
  },
  {
    name: 'a command starts in the working directory, or where it is told, relative paths from there',
    async run({ create }) {
      const sandbox = await create();
      assertExit(await sandbox.commands.run('mkdir -p "sub dir/deep"'), 0);
      const pwd = async (cwd: string): Promise<string> => (await sandbox.commands.run('pwd', { cwd })).stdout.trim();
      assert.equal(await pwd('sub dir/deep'), `${sandbox.workdir}/sub dir/deep`);
      assert.equal(await pwd('/'), '/');
    },
  },
  {
    name: 'a command is not run anywhere else when its directory is missing',
    async run({ create }) {
      const { commands, files } = await create();
      const result = await commands.run('touch ran', { cwd: 'missing' }).catch(() => undefined);
      assert.notEqual(result?.exitCode, 0);
      assert.equal(await files.exists('ran'), false);
    },
  },
  {
    name: 'variables of the sandbox and of the call arrive as they are, the call first',
    async run({ create, provider, signal }) {
      const sandbox = await create({ env: { FROM_SPEC: "s p'ec", BOTH: 'spec' } });
      const env = Object.fromEntries(ODD_TEXTS.map((text, index) => [`ODD_${index}`, text]));
      const script = `${ODD_TEXTS.map((_, index) => `printf '[%s]' "$ODD_${index}"`).join(';')}; echo "$FROM_SPEC $BOTH"`;
      const expected = `${ODD_TEXTS.map((text) => `[${text}]`).join('')}s p'ec call\n`;
      assert.equal((await sandbox.commands.run(script, { env: { ...env, BOTH: 'call' } })).stdout, expected);
      const found = await provider.attach(sandbox.ref, signal, { env: { FROM_SPEC: 'again' } });
      assert.equal((await found?.commands.run('echo $FROM_SPEC'))?.stdout, 'again\n');
    },
  },
  {
    name: "a command does not see this process's environment",
    async run({ create }) {
      const name = 'SUBLET_CONTRACT_SECRET';
      process.env[name] = 'leaked';
      try {
        const sandbox = await create();
        assert.equal(await outputOf(sandbox, `echo "[$${name}]"`), '[]\n');
      } finally {
        delete process.env[name];
      }
    },
  },
  {
    name: 'a script of 256 KiB runs',
    async run({ create }) {
      const sandbox = await create();
      const script = `${`: ${'x'.repeat(1000)}\n`.repeat(256)}echo end`;
      assert.equal(await outputOf(sandbox, script), 'end\n');
    },
  },
  {
    name: '200 KiB of arguments arrive',
    async run({ create }) {
      const { commands } = await create();
      const args = Array.from({ length: 50 }, (_, index) => String(index).padEnd(4096, 'x'));
      const result = await commands.run(['sh', '-c', 'echo $#; echo "$50" | wc -c', 'sh', ...args]);
      assert.equal(result.stdout.split('\n')[0], '50');
    },
  },
  {
    name: 'commands run at the same time and do not mix',
    async run({ create }) {
      const { commands } = await create();
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          commands.run(`echo start${index}; sleep 0.1; echo end${index}; exit ${index}`),
        ),
      );
      for (const [index, result] of results.entries()) {
        assert.equal(result.stdout, `start${index}\nend${index}\n`);
        assertExit(result, index);
      }
    },
  },
  {
    name: 'many commands run one after the other',
    async run({ create }) {
      const { commands } = await create();
      for (let index = 0; index < 60; index++) assert.equal((await commands.run(`echo ${index}`)).stdout, `${index}\n`);
    },
  },
  {
    name: 'a command that signals its own group does not hurt another',
    async run({ create }) {
      const { commands } = await create();
      const [bystander] = await Promise.all([commands.run('sleep 0.5; echo alive'), commands.run('kill 0; sleep 1')]);
      assert.equal(bystander.stdout, 'alive\n');
      assert.equal((await commands.run('echo next')).stdout, 'next\n');
    },
  },
  {
    name: 'a sandbox of its own keeps the state that commands leave: files, not variables',
    async run({ create }) {
      const sandbox = await create();
      await outputOf(sandbox, 'cd /; x=1; export x; echo kept >"$OLDPWD/note"');
      assert.equal(await outputOf(sandbox, 'echo "[$x]"; cat note'), '[]\nkept\n');
    },
  },
];
