/** Background commands: output by cursor, waiting, killing, and another process's view. */
import assert from 'node:assert/strict';
import type { OutputStream, RunningCommand } from '../../core/commands.ts';
import { assertRejects, assertStill, runawayScript, type ProviderCase } from './provider-case.ts';

const needs = ['background'] as const;

export const backgroundCases: readonly ProviderCase[] = [
  {
    name: 'a background command is listed while it runs and after it ended, with its exit code',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('read line; exit 5', { stdin: true });
      const before = (await commands.list()).find((info) => info.id === command.id);
      assert.deepEqual([before?.running, before?.exitCode, before?.pty], [true, null, false]);
      await command.writeStdin('go\n');
      assert.deepEqual(await command.wait(), { exitCode: 5, timedOut: false });
      const after = (await commands.list()).find((info) => info.id === command.id);
      assert.deepEqual([after?.running, after?.exitCode], [false, 5]);
      assert.ok(after?.command.includes('read line'));
    },
  },
  {
    name: 'output is read from a byte cursor, as often as one likes',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('echo one; echo two; echo bad >&2');
      await command.wait();
      assert.equal(await textOf(command, 'stdout'), 'one\ntwo\n');
      assert.equal(await textOf(command, 'stdout'), 'one\ntwo\n');
      assert.equal(await textOf(command, 'stdout', 4), 'two\n');
      assert.equal(await textOf(command, 'stderr'), 'bad\n');
      const part = await command.output('stdout', 1, { maxBytes: 2 });
      assert.deepEqual([Buffer.from(part.data).toString(), part.next, part.lostBytes], ['ne', 3, 0]);
      const end = await command.output('stdout', 8);
      assert.deepEqual([end.data.length, end.next, end.end], [0, 8, true]);
    },
  },
  {
    name: 'output is there while the command runs, and waiting waits for more',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('echo one; read line; echo "got $line"; read line', { stdin: true });
      const first = await command.output('stdout', 0, { wait: true });
      assert.equal(Buffer.from(first.data).toString(), 'one\n');
      const more = command.output('stdout', first.next, { wait: true });
      await command.writeStdin('x\n');
      const second = await more;
      assert.deepEqual([Buffer.from(second.data).toString(), second.end], ['got x\n', false]);
      await command.closeStdin();
      await command.wait();
      assert.equal((await command.output('stdout', second.next, { wait: true })).end, true);
    },
  },
  {
    name: 'a stream gives all output until the end, to several readers',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('i=0; while [ $i -lt 20 ]; do echo line $i; sleep 0.02; i=$((i+1)); done');
      const expected = Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join('');
      assert.deepEqual(await Promise.all([textOf(command, 'stdout'), textOf(command, 'stdout')]), [expected, expected]);
    },
  },
  {
    name: 'output beyond what is kept is reported as lost, and the newest is there',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const total = 64 * 1024 * 1024;
      const command = await commands.start(`head -c ${total} /dev/zero; echo end`);
      await command.wait();
      const first = await command.output('stdout', 0, { maxBytes: 1000 });
      assert.ok(
        first.lostBytes > 0 && first.next === first.lostBytes + first.data.length,
        `lost ${first.lostBytes}, next ${first.next}`,
      );
      assert.equal(await textOf(command, 'stdout', total), 'end\n');
    },
  },
  {
    name: 'kill ends the whole tree and says by which signal; killing again is success',
    needs,
    async run({ create }) {
      const sandbox = await create();
      const command = await sandbox.commands.start(`${runawayScript('beats')}; echo ready; sleep 1000`);
      await command.output('stdout', 0, { wait: true });
      await command.kill();
      assert.deepEqual(await command.wait(), { exitCode: null, signal: 'SIGKILL', timedOut: false });
      await assertStill(sandbox, 'beats');
      await command.kill();
    },
  },
  {
    name: 'a command may catch a gentler signal and choose its exit code',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start("trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done");
      await command.output('stdout', 0, { wait: true });
      await command.kill('SIGTERM');
      assert.deepEqual(await command.wait(), { exitCode: 9, timedOut: false });
    },
  },
  {
    name: 'a command that is killed at once does not start after all',
    needs,
    async run({ create }) {
      const { commands } = await create();
      for (let round = 0; round < 5; round++) {
        const command = await commands.start('sleep 1000');
        await command.kill();
        assert.equal((await command.wait()).exitCode, null);
      }
    },
  },
  {
    name: 'a time-out ends a background command with its tree',
    needs,
    async run({ create }) {
      const sandbox = await create();
      const command = await sandbox.commands.start(`${runawayScript('beats')}; sleep 1000`, { timeoutMs: 1_500 });
      const exit = await command.wait();
      assert.deepEqual([exit.timedOut, exit.exitCode], [true, null]);
      await assertStill(sandbox, 'beats');
    },
  },
  {
    name: 'an abort ends a background command',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const giveUp = new AbortController();
      const command = await commands.start('echo ready; sleep 1000', { signal: giveUp.signal });
      await command.output('stdout', 0, { wait: true });
      giveUp.abort();
      assert.equal((await command.wait()).exitCode, null);
    },
  },
  {
    name: 'waiting can be given up without ending the command',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('sleep 1000');
      await assertRejects(command.wait(AbortSignal.timeout(50)), 'ABORTED');
      await assertRejects(command.output('stdout', 0, { wait: true, signal: AbortSignal.timeout(50) }), 'ABORTED');
      assert.equal((await command.info()).running, true);
      await command.kill();
    },
  },
  {
    name: 'another process finds the command, reads it, writes to it and ends it',
    needs,
    async run({ create, signal, second }) {
      const sandbox = await create();
      const command = await sandbox.commands.start('while read line; do echo "got $line"; done; echo closed', {
        stdin: true,
      });
      const elsewhere = await (await second()).attach(sandbox.ref, signal);
      const found = await elsewhere?.commands.attach(command.id);
      assert.ok(found !== undefined);
      await found.writeStdin('there\n');
      assert.equal(Buffer.from((await command.output('stdout', 0, { wait: true })).data).toString(), 'got there\n');
      await command.writeStdin('here\n');
      await found.closeStdin();
      assert.equal((await found.wait()).exitCode, 0);
      assert.equal(await textOf(found, 'stdout'), 'got there\ngot here\nclosed\n');
      assert.equal(await textOf(command, 'stdout'), 'got there\ngot here\nclosed\n');
    },
  },
  {
    name: 'without standard input it is empty and writing is refused',
    needs,
    async run({ create }) {
      const { commands } = await create();
      const command = await commands.start('cat; echo end; sleep 1000');
      assert.equal(Buffer.from((await command.output('stdout', 0, { wait: true })).data).toString(), 'end\n');
      await assertRejects(command.writeStdin('x'), 'UNSUPPORTED');
      await assertRejects(command.resize({ cols: 1, rows: 1 }), 'UNSUPPORTED');
      await command.kill();
    },
  },
  {
    name: 'directory, variables and arguments are those that were asked for',
    needs,
    async run({ create }) {
      const sandbox = await create({ env: { A: 'spec', B: 'spec' } });
      await sandbox.files.mkdir('sub dir');
      const command = await sandbox.commands.start(['sh', '-c', 'pwd; echo "$A|$B|$1"', 'sh', "it's\n$HOME"], {
        cwd: 'sub dir',
        env: { B: "c'all" },
      });
      await command.wait();
      assert.equal(await textOf(command, 'stdout'), `${sandbox.workdir}/sub dir\nspec|c'all|it's\n$HOME\n`);
    },
  },
  {
    name: 'an id that nobody gave out is not found',
    needs,
    async run({ create }) {
      const { commands } = await create();
      await assertRejects(commands.attach('cmd_0000000000000000'), 'COMMAND_NOT_FOUND');
      await assertRejects(commands.attach('../../etc'), 'COMMAND_NOT_FOUND');
    },
  },
];

async function textOf(command: RunningCommand, stream: OutputStream, cursor = 0): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of command.stream(stream, { cursor })) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
