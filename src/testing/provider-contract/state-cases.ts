/** Pause, stop and the network of a live sandbox. */
import assert from 'node:assert/strict';
import type { RunningCommand } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import { isAtLeastAsTight, violates } from '../../core/network.ts';
import type { SandboxHandle } from '../../provider/provider.ts';
import { assertRejects, type ProviderCase, type ProviderCaseContext } from './provider-case.ts';

const BEAT = 'while :; do echo beat; sleep 0.05; done';

export const stateCases: readonly ProviderCase[] = [
  {
    name: 'a paused sandbox makes no progress and goes on where it was',
    needs: ['pause', 'background'],
    async run({ create, provider, signal }) {
      const sandbox = await create();
      const command = await sandbox.commands.start(BEAT);
      await command.output('stdout', 0, { wait: true });
      await provider.pause?.(sandbox.ref, signal);
      await provider.pause?.(sandbox.ref, signal);
      assert.equal((await provider.attach(sandbox.ref, signal))?.state, 'paused');
      // What was in a pipe on the way out may still arrive; after that, nothing.
      await pause(300);
      const before = await written(command);
      await pause(400);
      const after = await written(command);
      await provider.resume?.(sandbox.ref, signal);
      await provider.resume?.(sandbox.ref, signal);
      assert.equal(after, before, 'it ran while it was paused');
      const { next } = await command.output('stdout', after ?? 0);
      assert.ok((await command.output('stdout', next, { wait: true })).data.length > 0);
      assert.equal((await provider.attach(sandbox.ref, signal))?.state, 'running');
      await command.kill();
    },
  },
  {
    name: 'a paused sandbox can be destroyed',
    needs: ['pause', 'background'],
    async run({ create, provider, signal }) {
      const sandbox = await create();
      await sandbox.commands.start(BEAT);
      await provider.pause?.(sandbox.ref, signal);
      await provider.destroy(sandbox.ref, signal);
      assert.equal(await provider.attach(sandbox.ref, signal), undefined);
    },
  },
  {
    name: 'stop keeps the files and ends the processes; start brings it back',
    needs: ['stop', 'background'],
    async run({ create, provider, signal }) {
      const sandbox = await create({ env: { A: 'first' } });
      await sandbox.files.write('kept', 'still here');
      const { id } = await sandbox.commands.start(BEAT);
      await provider.stop?.(sandbox.ref, signal);
      await provider.stop?.(sandbox.ref, signal);
      assert.equal((await provider.attach(sandbox.ref, signal))?.state, 'stopped');
      await provider.start?.(sandbox.ref, signal, { env: { A: 'again' } });
      const started = await provider.attach(sandbox.ref, signal, { env: { A: 'again' } });
      assert.equal(started?.state, 'running');
      assert.equal(await started.files.readText('kept'), 'still here');
      assert.equal((await started.commands.run('echo $A')).stdout, 'again\n');
      assert.equal(
        (await started.commands.list()).some((info) => info.id === id && info.running),
        false,
      );
    },
  },
  {
    name: 'the same name again starts a stopped sandbox, with its files',
    needs: ['stop'],
    async run({ create, provider, signal }) {
      const sandbox = await create({ env: { A: 'first' } });
      await sandbox.files.write('kept', 'still here');
      await provider.stop?.(sandbox.ref, signal);
      const again = await create({ name: sandbox.ref.name, env: { A: 'again' } });
      assert.equal(again.state, 'running');
      assert.equal(await again.files.readText('kept'), 'still here');
      assert.equal((await again.commands.run('echo $A')).stdout, 'again\n');
    },
  },
  {
    name: 'its own deadline is told and moved on',
    needs: ['extend'],
    async run({ create, provider, signal }) {
      const sandbox = await create({ deadManMs: 10 * 60_000 });
      const first = (await provider.attach(sandbox.ref, signal))?.deadManAt;
      assert.ok(first !== undefined && first > Date.now() + 60_000 && first < Date.now() + 11 * 60_000, `${first}`);
      const later = await provider.extend?.(sandbox.ref, 20 * 60_000, signal);
      assert.ok(later !== undefined && later > first, `${later}`);
      const seen = (await provider.attach(sandbox.ref, signal))?.deadManAt ?? 0;
      assert.ok(Math.abs(seen - later) < 5_000, `${seen} instead of ${later}`);
      await provider.destroy(sandbox.ref, signal);
      await assertRejects(provider.extend?.(sandbox.ref, 60_000, signal) ?? Promise.resolve(), 'SANDBOX_NOT_FOUND');
    },
  },
  {
    name: 'network "none" is what the provider says it is, to everyone',
    needs: ['network-none'],
    async run({ create, signal, second }) {
      const sandbox = await create({ network: 'none' });
      assert.equal(violates(sandbox.network, 'none'), false);
      const seen = await (await second()).attach(sandbox.ref, signal);
      assert.equal(seen !== undefined && violates(seen.network, 'none'), false);
    },
  },
  {
    name: 'a network level that cannot be enforced is refused, and nothing is made',
    async run({ provider, spec, signal }) {
      for (const network of ['none', 'allowlist'] as const) {
        if (provider.capabilities.has(`network-${network}`)) continue;
        const wanted = spec({ network });
        const error = await assertRejects(provider.create(wanted, signal), 'NETWORK_NOT_ENFORCEABLE', 'UNSUPPORTED');
        assert.ok(error.hint !== undefined);
        assert.equal(await provider.attach({ name: wanted.name }, signal), undefined);
      }
    },
  },
  {
    name: 'an open network is tightened without losing processes',
    needs: ['network-live', 'network-open', 'network-none', 'background'],
    async run(context) {
      const { provider, signal } = context;
      const sandbox = await createOpen(context);
      if (sandbox === undefined) return;
      const command = await sandbox.commands.start(BEAT);
      await provider.setNetwork?.(sandbox.ref, 'none', signal);
      await provider.setNetwork?.(sandbox.ref, 'none', signal);
      const fact = (await provider.attach(sandbox.ref, signal))?.network;
      assert.ok(fact !== undefined && fact !== 'unknown' && isAtLeastAsTight(fact, 'none'), `the network is ${fact}`);
      const { next } = await command.output('stdout', 0);
      assert.ok((await command.output('stdout', next, { wait: true })).data.length > 0);
      await command.kill();
    },
  },
];

/** How far its output has come; undefined where a paused sandbox cannot even be asked that. */
async function written(command: RunningCommand): Promise<number | undefined> {
  return command.output('stdout', 0).then(
    ({ next }) => next,
    (error: unknown) => {
      assert.ok(SubletError.is(error, 'STATE_CONFLICT'), String(error));
      return undefined;
    },
  );
}

/** undefined where this machine cannot open a network: then the refusal must say what would enable it. */
async function createOpen({ create }: ProviderCaseContext): Promise<SandboxHandle | undefined> {
  try {
    return await create({ network: 'open' });
  } catch (error) {
    assert.ok(SubletError.is(error) && error.hint !== undefined, String(error));
    return undefined;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
