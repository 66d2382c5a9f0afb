/** The manager contract as data: what every implementation of `Sublet` must do, in this process or over a wire. Register each case with any test runner. */
import assert from 'node:assert/strict';
import type { Sublet } from '../core/api.ts';
import { SubletError } from '../core/errors.ts';
import type { ErrorCode } from '../core/errors.ts';

export interface ManagerSubject {
  /** A manager over an installation of its own. The subject closes it afterwards. */
  readonly sublet: Sublet;
  /** Another manager over the same installation, as another process would have it. */
  readonly another: () => Promise<Sublet>;
}

/** What a case needs of the sandboxes underneath. `posix`: a real shell and the usual commands. */
export type ManagerNeed = 'pause' | 'stop' | 'metrics' | 'network-live' | 'volumes' | 'posix';

export interface ManagerContractCase {
  readonly name: string;
  readonly needs?: readonly ManagerNeed[] | undefined;
  run(subject: ManagerSubject): Promise<void>;
}

const NEVER_ENDING = 'sleep 600';

const runCases: readonly ManagerContractCase[] = [
  {
    name: 'run gives exit code and output, and leaves nothing',
    async run({ sublet }) {
      const ok = await sublet.run('echo hello');
      assert.equal(ok.exitCode, 0);
      assert.equal(ok.stdout, 'hello\n');
      assert.equal((await sublet.run('exit 3')).exitCode, 3);
      assert.deepEqual(await sublet.sandboxes.list(), []);
    },
  },
  {
    name: 'run passes standard input and streams output',
    async run({ sublet }) {
      const seen: Uint8Array[] = [];
      const result = await sublet.run('cat', {
        stdin: 'given',
        onStdout: (chunk) => void seen.push(Uint8Array.from(chunk)),
      });
      assert.equal(result.stdout, 'given');
      assert.equal(Buffer.concat(seen).toString(), 'given');
    },
  },
  {
    name: 'run that takes too long says timedOut and has no exit code',
    async run({ sublet }) {
      const result = await sublet.run(NEVER_ENDING, { timeoutMs: 200 });
      assert.equal(result.timedOut, true);
      assert.equal(result.exitCode, null);
      assert.deepEqual(await sublet.sandboxes.list(), []);
    },
  },
  {
    name: 'run that is aborted rejects and leaves nothing',
    async run({ sublet }) {
      const abort = new AbortController();
      const running = sublet.run(NEVER_ENDING, { signal: abort.signal });
      setTimeout(() => abort.abort(), 50);
      await rejectsWith('ABORTED', running);
      assert.deepEqual(await sublet.sandboxes.list(), []);
    },
  },
  {
    name: 'ephemeral destroys the sandbox when its body throws',
    async run({ sublet }) {
      await assert.rejects(
        sublet.ephemeral({}, async (sandbox) => {
          await sandbox.files.write('a.txt', 'b');
          assert.equal(await sandbox.files.readText('a.txt'), 'b');
          throw new Error('of the body');
        }),
        /of the body/,
      );
      assert.deepEqual(await sublet.sandboxes.list(), []);
    },
  },
  {
    name: 'runCode runs code as it is written, with its standard input',
    needs: ['posix'],
    async run({ sublet }) {
      const code = `read line; printf '%s|%s' "it's" "$line"`;
      const result = await sublet.runCode('bash', code, { stdin: 'a "b"\n' });
      assert.equal(result.stdout, `it's|a "b"`);
    },
  },
];

const sessionCases: readonly ManagerContractCase[] = [
  {
    name: 'a session finds its files again, here and in another process',
    async run({ sublet, another }) {
      const first = await sublet.session({ user: 'u', task: 't' });
      assert.equal(first.created, true);
      await first.files.write('kept.txt', 'kept');
      const again = await sublet.session({ user: 'u', task: 't' });
      assert.equal(again.created, false);
      assert.equal(again.sandboxId, first.sandboxId);
      const elsewhere = await (await another()).session({ user: 'u', task: 't' });
      assert.equal(elsewhere.sandboxId, first.sandboxId);
      assert.equal(await elsewhere.files.readText('kept.txt'), 'kept');
    },
  },
  {
    name: 'many first uses of one key at once make one sandbox',
    async run({ sublet, another }) {
      const other = await another();
      const asked = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? sublet : other).session({ task: 'busy' }));
      const sessions = await Promise.all(asked);
      assert.equal(new Set(sessions.map((session) => session.sandboxId)).size, 1);
      assert.equal(sessions.filter((session) => session.created).length, 1);
      assert.equal((await sublet.sandboxes.list()).length, 1);
    },
  },
  {
    name: 'a session whose sandbox was destroyed gets another, and is told',
    async run({ sublet }) {
      const first = await sublet.session({ task: 't' });
      await sublet.sandboxes.destroy(first.sandboxId, 'by the test');
      const second = await sublet.session({ task: 't' });
      assert.equal(second.created, true);
      const [notice] = second.notices;
      assert.equal(notice?.type === 'replaced' && notice.lostSandboxId, first.sandboxId);
    },
  },
  {
    name: 'another sandbox than the session has is refused, not silently given',
    needs: ['volumes'],
    async run({ sublet }) {
      const session = await sublet.session({ task: 'u' });
      await rejectsWith('STATE_CONFLICT', sublet.session({ task: 'u', contextId: 'another-volume' }));
      assert.equal((await sublet.session({ task: 'u' })).sandboxId, session.sandboxId);
    },
  },
  {
    name: 'a private session stays private, also in its next sandbox',
    needs: ['network-live'],
    async run({ sublet }) {
      const session = await sublet.session({ task: 't' });
      await session.markPrivate('for the test');
      await session.markPrivate('twice');
      assert.equal(session.network, 'none');
      await rejectsWith('STATE_CONFLICT', session.setNetwork('open', 'please'));
      await sublet.sandboxes.destroy(session.sandboxId);
      assert.equal((await sublet.session({ task: 't' })).network, 'none');
    },
  },
  {
    name: 'a released handle refuses to work, and the sandbox stays',
    async run({ sublet }) {
      const session = await sublet.session({ task: 't' });
      await session.release();
      await rejectsWith('CLOSED', session.commands.run('true'));
      assert.equal((await sublet.session({ task: 't' })).sandboxId, session.sandboxId);
    },
  },
  {
    name: 'a shell carries its directory and variables over, and stateless commands do not',
    needs: ['posix'],
    async run({ sublet }) {
      const session = await sublet.session({ task: 't' });
      await using shell = await session.shell();
      await shell.run('mkdir -p sub && cd sub && A=kept');
      assert.equal((await shell.run('basename "$PWD"; echo "$A"')).stdout, 'sub\nkept\n');
      assert.equal((await shell.run('exit 5')).exitCode, 5);
      assert.equal((await session.commands.run('echo "[$A]"')).stdout, '[]\n');
    },
  },
  {
    name: 'the agent has commands, files, code and a shell, and nothing else',
    async run({ sublet }) {
      const { agent } = await sublet.session({ task: 't' });
      assert.equal((await agent.commands.run('echo hi')).stdout, 'hi\n');
      for (const power of ['markPrivate', 'setNetwork', 'release', 'pause', 'destroy'])
        assert.equal(power in agent, false);
    },
  },
];

const managementCases: readonly ManagerContractCase[] = [
  {
    name: 'a sandbox is found by id, prefix and key; what does not exist is said',
    async run({ sublet }) {
      const { sandboxId } = await sublet.session({ task: 'findable' });
      for (const text of [sandboxId, sandboxId.slice(0, 10), 'findable'])
        assert.equal((await sublet.sandboxes.get(text)).id, sandboxId);
      await rejectsWith('SANDBOX_NOT_FOUND', sublet.sandboxes.get('no-such-thing'));
    },
  },
  {
    name: 'pausing and resuming keeps the sandbox, twice without harm',
    needs: ['pause'],
    async run({ sublet }) {
      const session = await sublet.session({ task: 't' });
      for (let twice = 0; twice < 2; twice++)
        assert.equal((await sublet.sandboxes.pause(session.sandboxId)).state, 'paused');
      for (let twice = 0; twice < 2; twice++)
        assert.equal((await sublet.sandboxes.resume(session.sandboxId)).state, 'running');
      assert.equal((await session.commands.run('echo on')).stdout, 'on\n');
    },
  },
  {
    name: 'stopping keeps the files',
    needs: ['stop'],
    async run({ sublet }) {
      const session = await sublet.session({ task: 't' });
      await session.files.write('kept.txt', 'kept');
      assert.equal((await sublet.sandboxes.stop(session.sandboxId)).state, 'stopped');
      assert.equal(await (await sublet.session({ task: 't' })).files.readText('kept.txt'), 'kept');
    },
  },
  {
    name: 'metrics of a sandbox can be read',
    needs: ['metrics'],
    async run({ sublet }) {
      const { sandboxId } = await sublet.session({ task: 't' });
      assert.equal(typeof (await sublet.sandboxes.metrics(sandboxId)), 'object');
    },
  },
  {
    name: 'destroying all sessions counts them, and twice is none',
    async run({ sublet }) {
      await sublet.session({ task: 'a' });
      await sublet.session({ task: 'b' });
      assert.equal(await sublet.destroyAllSessions(), 2);
      assert.equal(await sublet.destroyAllSessions(), 0);
      assert.deepEqual(await sublet.sandboxes.list(), []);
    },
  },
  {
    name: 'events tell what happened, in order and by sandbox',
    async run({ sublet }) {
      const { sandboxId } = await sublet.session({ task: 't' });
      await sublet.sandboxes.destroy(sandboxId, 'by the test');
      const events = await sublet.events({ sandboxId });
      const types = events.map((event) => event.type).filter((type) => type.startsWith('sandbox.'));
      assert.deepEqual(types, ['sandbox.creating', 'sandbox.running', 'sandbox.destroying', 'sandbox.destroyed']);
      assert.equal(events.at(-1)?.cause, 'by the test');
      assert.deepEqual(await sublet.events({ after: events.at(-1)?.seq }), []);
    },
  },
  {
    name: 'metrics count by kind and in total',
    async run({ sublet }) {
      await sublet.session({ task: 't' });
      await sublet.session({ task: 't' });
      await sublet.run('true');
      const { total, kinds } = await sublet.metrics();
      assert.deepEqual(total, { active: 1, created: 2, cleaned: 1, reused: 1, healthCheckFailures: 0 });
      assert.deepEqual(kinds.execution, total);
    },
  },
  {
    name: 'a sweep of an installation where nothing is due examines nothing',
    async run({ sublet }) {
      await sublet.session({ task: 't' });
      assert.deepEqual(await sublet.sweep(), { examined: 0, actions: [] });
    },
  },
  {
    name: 'closing twice is harmless and refuses what comes after',
    async run({ another }) {
      const sublet = await another();
      await Promise.all([sublet.close(), sublet.close()]);
      await rejectsWith('CLOSED', sublet.run('true'));
    },
  },
];

export const managerContract: readonly ManagerContractCase[] = [...runCases, ...sessionCases, ...managementCases];

async function rejectsWith(code: ErrorCode, work: Promise<unknown>): Promise<void> {
  await assert.rejects(
    work,
    (error) => SubletError.is(error, code) || assert.fail(`expected ${code}, got ${String(error)}`),
  );
}
