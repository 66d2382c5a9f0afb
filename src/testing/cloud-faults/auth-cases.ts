/** Credentials. */
import assert from 'node:assert/strict';
import { assertRejects, collect } from '../provider-contract/provider-case.ts';
import type { CloudFaultCase } from './cloud-fault-case.ts';

export const authCases: readonly CloudFaultCase[] = [
  {
    name: 'a wrong key is AUTH_FAILED with what to do, whatever is asked, and says nothing about what exists',
    async run({ withWrongKey, create, spec, signal, count }) {
      const { ref } = await create();
      const before = await count();
      const stranger = await withWrongKey();
      try {
        const asked = [
          () => stranger.create(spec(), signal),
          () => stranger.attach(ref, signal),
          () => stranger.attach({ name: ref.name }, signal),
          () => stranger.destroy(ref, signal),
          () => collect(stranger.list({}, signal)),
        ];
        for (const ask of asked) {
          const error = await assertRejects(ask(), 'AUTH_FAILED');
          assert.ok(error.hint !== undefined && error.hint !== '', 'no hint');
        }
      } finally {
        await stranger.close();
      }
      assert.equal(await count(), before);
    },
  },
  {
    name: 'a key that is withdrawn later is AUTH_FAILED, not the loss of the sandbox',
    async run({ create, provider, signal, faults, matches, refusal }) {
      const { ref } = await create();
      for (const operation of ['find', 'list'] as const) {
        const armed = faults.arm(matches[operation], { kind: 'answer', answer: refusal(401, operation) });
        const ask = operation === 'find' ? provider.attach(ref, signal) : collect(provider.list({}, signal));
        await assertRejects(ask, 'AUTH_FAILED');
        armed.release();
      }
      assert.notEqual(await provider.attach(ref, signal), undefined);
    },
  },
];
