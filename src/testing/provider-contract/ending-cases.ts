/** Time-outs and aborts: the whole tree inside ends, and the result says so. */
import assert from 'node:assert/strict';
import { assertExit, assertRejects, assertStill, runawayScript, type ProviderCase } from './provider-case.ts';

export const endingCases: readonly ProviderCase[] = [
  {
    name: 'a time-out ends the command, keeps its output, and gives no exit code',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run('echo before; sleep 1000', { timeoutMs: 700 });
      assert.deepEqual([result.timedOut, result.exitCode, result.stdout], [true, null, 'before\n']);
    },
  },
  {
    name: 'a command that ends in time is not timed out',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run('exit 4', { timeoutMs: 20_000 });
      assertExit(result, 4);
      assert.equal(result.timedOut, false);
    },
  },
  {
    name: 'a time-out ends what forked twice into a session of its own',
    async run({ create }) {
      const sandbox = await create();
      const result = await sandbox.commands.run(`${runawayScript('beats')}; sleep 1000`, { timeoutMs: 2_000 });
      assert.equal(result.timedOut, true);
      await assertStill(sandbox, 'beats');
    },
  },
  {
    name: 'a time-out ends a command that ignores signals',
    async run({ create }) {
      const { commands } = await create();
      const result = await commands.run("trap '' TERM INT HUP; while :; do sleep 1; done", { timeoutMs: 500 });
      assert.deepEqual([result.timedOut, result.exitCode], [true, null]);
    },
  },
  {
    name: 'an abort rejects with ABORTED and ends the whole tree',
    async run({ create }) {
      const sandbox = await create();
      const giveUp = new AbortController();
      const running = sandbox.commands.run(`${runawayScript('beats')}; echo ready; sleep 1000`, {
        signal: giveUp.signal,
        onStdout: () => giveUp.abort(),
      });
      await assertRejects(running, 'ABORTED');
      await assertStill(sandbox, 'beats');
    },
  },
  {
    name: 'a command that was aborted before it began does not run',
    async run({ create }) {
      const { commands, files } = await create();
      await assertRejects(commands.run('touch ran', { signal: AbortSignal.abort() }), 'ABORTED');
      assert.equal(await files.exists('ran'), false);
    },
  },
  {
    name: 'ending one command leaves the others alone',
    async run({ create }) {
      const { commands } = await create();
      const [other] = await Promise.all([
        commands.run('sleep 1.5; echo done'),
        commands.run('sleep 1000', { timeoutMs: 300 }),
        commands.run('sleep 1000', { timeoutMs: 600 }),
      ]);
      assert.equal(other.stdout, 'done\n');
    },
  },
  {
    name: 'destroy ends the commands that run',
    async run({ create, provider, signal }) {
      const sandbox = await create();
      let started = (): void => undefined;
      const hasStarted = new Promise<void>((resolve) => (started = resolve));
      const running = sandbox.commands.run('echo go; sleep 1000', { onStdout: () => started() }).then(
        (result) => result.exitCode,
        () => null,
      );
      await hasStarted;
      await provider.destroy(sandbox.ref, signal);
      assert.notEqual(await running, 0);
    },
  },
];
