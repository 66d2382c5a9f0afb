/** Creates whose outcome is not told, and what belongs to others. */
import assert from 'node:assert/strict';
import { SubletError } from '../../core/errors.ts';
import { assertRejects, collect } from '../provider-contract/provider-case.ts';
import type { CloudFaultCase } from './cloud-fault-case.ts';

export const createCases: readonly CloudFaultCase[] = [
  {
    name: 'a create whose answer is lost makes one sandbox at most, which its name finds and destroy removes',
    async run({ spec, provider, signal, faults, matches, count }) {
      const before = await count();
      const wanted = spec();
      const armed = faults.arm(matches.create, { kind: 'lost-answer' });
      const outcome = await provider.create(wanted, signal).catch((cause: unknown) => cause);
      assert.ok(armed.met > 0);
      if (outcome instanceof Error) assert.ok(SubletError.is(outcome, 'PROVIDER_UNAVAILABLE'), String(outcome));
      assert.ok((await count()) <= before + 1, 'it was made twice');
      await provider.destroy({ name: wanted.name }, signal);
      assert.equal(await count(), before);
    },
  },
  {
    name: 'a create that is asked again after its answer was lost gives the sandbox that is there',
    async run({ spec, provider, signal, faults, matches, count }) {
      const before = await count();
      const wanted = spec();
      faults.arm(matches.create, { kind: 'lost-answer' });
      await provider.create(wanted, signal).catch(() => undefined);
      const sandbox = await provider.create(wanted, signal);
      assert.equal((await sandbox.commands.run('echo here')).stdout, 'here\n');
      assert.equal(await count(), before + 1);
    },
  },
  {
    name: 'a create that fails makes nothing and says PROVIDER_UNAVAILABLE',
    async run({ spec, provider, signal, faults, matches, refusal, count }) {
      const before = await count();
      const wanted = spec();
      faults.arm(matches.create, { kind: 'answer', answer: refusal(500, 'create') });
      await assertRejects(provider.create(wanted, signal), 'PROVIDER_UNAVAILABLE');
      assert.equal(await provider.attach({ name: wanted.name }, signal), undefined);
      assert.equal(await count(), before);
    },
  },
  {
    name: 'a create that is given up while the service works on it leaves nothing that destroy does not remove',
    async run({ spec, provider, signal, faults, matches, count }) {
      const before = await count();
      const wanted = spec();
      const armed = faults.arm(matches.create, { kind: 'held' });
      const giveUp = new AbortController();
      const creating = provider.create(wanted, giveUp.signal);
      await armed.meeting;
      giveUp.abort();
      await assertRejects(creating, 'ABORTED');
      armed.release();
      for (let look = 0; look < 100 && (await count()) === before; look++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await provider.destroy({ name: wanted.name }, signal);
      assert.equal(await count(), before);
    },
  },
  {
    name: "what is not ours is neither listed by our labels nor touched by our names' end",
    async run({ create, spec, provider, signal, makeForeign }) {
      const isThere = await makeForeign();
      const wanted = spec();
      const sandbox = await create(wanted);
      const listed = await collect(provider.list(wanted.labels, signal));
      assert.deepEqual(
        listed.map(({ ref }) => ref.name),
        [wanted.name],
      );
      await provider.destroy({ name: 'sublet-nobody' }, signal);
      await provider.destroy(sandbox.ref, signal);
      assert.equal(await isThere(), true);
    },
  },
];
