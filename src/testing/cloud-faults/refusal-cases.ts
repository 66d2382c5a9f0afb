/** Refusals that are no failure of the service: conflicts and limits. */
import assert from 'node:assert/strict';
import { SubletError } from '../../core/errors.ts';
import { assertRejects, collect } from '../provider-contract/provider-case.ts';
import { ALWAYS, type CloudFaultCase } from './cloud-fault-case.ts';

export const refusalCases: readonly CloudFaultCase[] = [
  {
    name: 'a conflict while destroying is STATE_CONFLICT or overcome, never taken for done',
    async run({ create, provider, signal, faults, matches, refusal }) {
      const { ref } = await create();
      const armed = faults.arm(matches.destroy, { kind: 'answer', answer: refusal(409, 'destroy') });
      const error = await provider.destroy(ref, signal).catch((cause: unknown) => cause);
      if (error instanceof Error) await assertRejects(Promise.reject(error), 'STATE_CONFLICT');
      armed.release();
      await provider.destroy(ref, signal);
      assert.equal(await provider.attach(ref, signal), undefined);
    },
  },
  {
    name: 'a conflict while creating is an error of the table, and nothing is made',
    async run({ spec, provider, signal, faults, matches, refusal, count }) {
      const before = await count();
      faults.arm(matches.create, { kind: 'answer', answer: refusal(409, 'create') }, ALWAYS);
      await assertRejects(provider.create(spec(), signal), 'STATE_CONFLICT', 'CREATE_FAILED');
      assert.equal(await count(), before);
    },
  },
  {
    name: 'a rate limit that ends is waited for or told with how long to wait',
    async run({ create, provider, signal, faults, matches, refusal }) {
      const { ref } = await create();
      const answer = refusal(429, 'find');
      const limited = { ...answer, headers: { ...answer.headers, 'retry-after': '1' } };
      faults.arm(matches.find, { kind: 'answer', answer: limited });
      const found = await provider.attach(ref, signal).catch((cause: unknown) => cause);
      if (found instanceof Error) {
        assert.ok(SubletError.is(found, 'RATE_LIMITED'), String(found));
        assert.equal(found.details['retryAfterMs'], 1000);
      } else assert.notEqual(found, undefined);
    },
  },
  {
    name: 'a rate limit that does not end is RATE_LIMITED',
    async run({ spec, provider, signal, faults, matches, refusal, count }) {
      const before = await count();
      const answers = { create: refusal(429, 'create'), list: refusal(429, 'list') };
      for (const operation of ['create', 'list'] as const) {
        faults.arm(matches[operation], { kind: 'answer', answer: answers[operation] }, ALWAYS);
      }
      await assertRejects(collect(provider.list({}, signal)), 'RATE_LIMITED');
      await assertRejects(provider.create(spec(), signal), 'RATE_LIMITED');
      assert.equal(await count(), before);
    },
  },
];
