/** Lists: every page or none. */
import assert from 'node:assert/strict';
import { assertRejects, collect } from '../provider-contract/provider-case.ts';
import { ALWAYS, type CloudFaultCase, type CloudFaultContext } from './cloud-fault-case.ts';

export const listCases: readonly CloudFaultCase[] = [
  {
    name: 'a list has every page',
    async run(context) {
      const { names, labels } = await makeFive(context);
      context.setPageSize(2);
      try {
        const listed = await collect(context.provider.list(labels, context.signal));
        assert.deepEqual(listed.map(({ ref }) => ref.name).sort(), names);
      } finally {
        context.setPageSize(100);
      }
    },
  },
  {
    name: 'a list whose second page fails is not taken for all there is',
    async run(context) {
      const { provider, signal, faults, matches, refusal } = context;
      const { labels } = await makeFive(context);
      context.setPageSize(2);
      try {
        let requests = 0;
        const isSecond = (request: Parameters<typeof matches.list>[0]): boolean =>
          matches.list(request) && ++requests > 1;
        const armed = faults.arm(isSecond, { kind: 'answer', answer: refusal(500, 'list') }, ALWAYS);
        await assertRejects(collect(provider.list(labels, signal)), 'PROVIDER_UNAVAILABLE');
        assert.ok(armed.met > 0, 'nobody asked for a second page');
      } finally {
        context.setPageSize(100);
      }
    },
  },
  {
    name: 'a slow list is given up when it is told to',
    async run({ create, provider, signal, faults, matches }) {
      const { ref } = await create();
      const armed = faults.arm(matches.list, { kind: 'held' }, ALWAYS);
      const giveUp = new AbortController();
      const listing = collect(provider.list({}, giveUp.signal));
      await armed.meeting;
      giveUp.abort();
      await assertRejects(listing, 'ABORTED');
      armed.release();
      assert.notEqual(await provider.attach(ref, signal), undefined);
    },
  },
];

async function makeFive({
  create,
}: CloudFaultContext): Promise<{ names: readonly string[]; labels: Readonly<Record<string, string>> }> {
  const labels = { 'sublet.installation': `five-${crypto.randomUUID()}` };
  const made = await Promise.all(Array.from({ length: 5 }, () => create({ labels })));
  return { names: made.map(({ ref }) => ref.name).sort(), labels };
}
