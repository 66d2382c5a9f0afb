/** Gone and not known are kept apart: what is destroyed on a wrong answer does not come back. */
import assert from 'node:assert/strict';
import { SubletError } from '../../core/errors.ts';
import { assertRejects, collect, type ProviderCase } from './provider-case.ts';

export const certaintyCases: readonly ProviderCase[] = [
  {
    name: 'an attach that is given up does not say that the sandbox is gone',
    async run({ create, provider, signal }) {
      const { ref } = await create();
      const found = await provider.attach(ref, AbortSignal.abort()).catch((error: unknown) => {
        assert.ok(SubletError.is(error, 'ABORTED'), `not ABORTED: ${String(error)}`);
        return provider.attach(ref, signal);
      });
      assert.notEqual(found, undefined);
    },
  },
  {
    name: 'a list that is given up rejects, and is not taken for all there is',
    needs: ['labels'],
    async run({ create, provider }) {
      const team = { team: crypto.randomUUID() };
      await Promise.all([create({ labels: team }), create({ labels: team }), create({ labels: team })]);
      const giveUp = new AbortController();
      const seen: string[] = [];
      const reading = (async () => {
        for await (const { ref } of provider.list(team, giveUp.signal)) {
          seen.push(ref.name);
          giveUp.abort();
        }
      })();
      const isWhole = await reading.then(
        () => true,
        () => assertRejects(reading, 'ABORTED').then(() => false),
      );
      if (isWhole) assert.equal(seen.length, 3);
      await assertRejects(collect(provider.list(team, AbortSignal.abort())), 'ABORTED');
    },
  },
  {
    name: 'a use of what is gone fails, and no exit code is made up for it',
    async run({ create, provider, signal }) {
      const sandbox = await create();
      await provider.destroy(sandbox.ref, signal);
      await assertRejects(sandbox.commands.run('true'), 'SANDBOX_LOST', 'SANDBOX_NOT_FOUND', 'PROVIDER_UNAVAILABLE');
      assert.equal(await provider.attach(sandbox.ref, signal), undefined);
    },
  },
];
