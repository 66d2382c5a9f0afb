/** Reset: as it was made, or said not to be. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAtLeastAsTight } from '../../core/network.ts';
import type { ResetReport, SandboxHandle, SandboxRef, SandboxSpec } from '../../provider/provider.ts';
import {
  assertRejects,
  outputOf,
  runawayScript,
  type ProviderCase,
  type ProviderCaseContext,
} from './provider-case.ts';

export const resetCases: readonly ProviderCase[] = [
  {
    name: 'a reset sandbox has no file and no process of what was done in it, and the variables it is given',
    needs: ['reset', 'background'],
    async run(context) {
      const sandbox = await made(context, { env: { A: 'first' } });
      const before = await outputOf(sandbox, 'pwd; ls -A . ~ /tmp');
      await sandbox.files.write('left', 'behind');
      await outputOf(sandbox, `echo left >~/left; echo left >/tmp/left; ${runawayScript('/tmp/beats')}`);
      const { id } = await sandbox.commands.start('sleep 1000');
      assertClean(await reset(context, sandbox.ref, { A: 'again' }));
      const after = await attached(context, sandbox.ref, { A: 'again' });
      assert.equal(await outputOf(after, 'pwd; ls -A . ~ /tmp'), before);
      assert.equal(await outputOf(after, 'echo $A'), 'again\n');
      assert.equal(
        (await after.commands.list()).some((info) => info.id === id),
        false,
        'a command of the last holder is listed',
      );
      assert.doesNotMatch(await outputOf(after, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "'), /sleep (1000|0\.05)/);
    },
  },
  {
    name: 'reset twice is clean twice, and by another process too',
    needs: ['reset'],
    async run(context) {
      const { ref } = await made(context);
      assertClean(await reset(context, ref));
      const other = await context.second();
      const report = await other.reset?.(ref, context.signal);
      assert.ok(report !== undefined);
      assertClean(report);
      assert.equal(await outputOf(await attached(context, ref), 'echo runs'), 'runs\n');
    },
  },
  {
    name: 'a handle from before a reset reaches nothing of what is there now',
    needs: ['reset'],
    async run(context) {
      const before = await made(context);
      await outputOf(before, 'true');
      assertClean(await reset(context, before.ref));
      await before.commands.run('echo intruder >/tmp/intruder').catch(() => undefined);
      await before.files.write('intruder', 'here').catch(() => undefined);
      const after = await attached(context, before.ref);
      assert.equal(await outputOf(after, 'ls -A . /tmp | grep intruder || true'), '');
    },
  },
  {
    name: 'a paused sandbox that is reset runs',
    needs: ['reset', 'pause', 'background'],
    async run(context) {
      const sandbox = await made(context);
      await sandbox.commands.start('sleep 1000');
      await context.provider.pause?.(sandbox.ref, context.signal);
      assertClean(await reset(context, sandbox.ref));
      const after = await attached(context, sandbox.ref);
      assert.equal(after.state, 'running');
      assert.equal(await outputOf(after, 'echo runs'), 'runs\n');
    },
  },
  {
    name: 'a volume outlives a reset, which therefore is not clean',
    needs: ['reset', 'volumes'],
    async run(context) {
      const { ref } = await made(context, { contextId: `contract-${crypto.randomUUID()}` });
      assertUnclean(await reset(context, ref));
    },
  },
  {
    name: 'a mount that can be written makes a reset not clean, and one that cannot does not',
    needs: ['reset', 'mounts'],
    async run(context) {
      const source = await mkdtemp(join(tmpdir(), 'sublet-contract-'));
      try {
        await chmod(source, 0o777);
        const mount = { source, target: '/mnt/contract' };
        const [written, read] = [
          await made(context, { mounts: [{ ...mount, readOnly: false }] }),
          await made(context, { mounts: [mount] }),
        ];
        assertUnclean(await reset(context, written.ref));
        assertClean(await reset(context, read.ref));
      } finally {
        await rm(source, { recursive: true, force: true });
      }
    },
  },
  {
    name: 'a network that was tightened does not come back by a reset, which is not clean',
    needs: ['reset', 'network-live', 'network-open', 'network-none'],
    async run(context) {
      const open = await made(context, { network: 'open' }).catch(() => undefined);
      // A machine that cannot open a network has none to tighten.
      if (open === undefined) return;
      await context.provider.setNetwork?.(open.ref, 'none', context.signal);
      assertUnclean(await reset(context, open.ref));
      const fact = (await context.provider.attach(open.ref, context.signal))?.network ?? 'none';
      assert.ok(fact !== 'unknown' && isAtLeastAsTight(fact, 'none'), `the network is ${fact}`);
    },
  },
  {
    name: 'a reset of what is gone says that it is gone',
    needs: ['reset'],
    async run(context) {
      const { ref } = await made(context);
      await context.provider.destroy(ref, context.signal);
      await assertRejects(reset(context, ref), 'SANDBOX_NOT_FOUND');
    },
  },
];

/** One that outlives its maker: what is gone with it is not handed on. */
function made({ create }: ProviderCaseContext, overrides: Partial<SandboxSpec> = {}): Promise<SandboxHandle> {
  return create({ ephemeral: false, expectsOneCommand: false, ...overrides });
}

async function reset(
  { provider, signal }: ProviderCaseContext,
  ref: SandboxRef,
  env: Readonly<Record<string, string>> = {},
): Promise<ResetReport> {
  const report = await provider.reset?.(ref, signal, { env });
  assert.ok(report !== undefined, 'the capability is claimed and there is no reset');
  return report;
}

async function attached(
  { provider, signal }: ProviderCaseContext,
  ref: SandboxRef,
  env: Readonly<Record<string, string>> = {},
): Promise<SandboxHandle> {
  const handle = await provider.attach(ref, signal, { env });
  assert.ok(handle !== undefined, 'it is gone after the reset');
  return handle;
}

function assertClean(report: ResetReport): void {
  assert.deepEqual(report, { clean: true, differences: [] });
}

function assertUnclean({ clean, differences }: ResetReport): void {
  assert.equal(clean, false);
  assert.ok(differences.length > 0, 'it does not say what differs');
}
