/** Gone, or not known: each wording of the first, and everything that is only the second. */
import assert from 'node:assert/strict';
import { assertExit, assertRejects, collect } from '../provider-contract/provider-case.ts';
import { ALWAYS, type CloudFaultCase, type CloudFaultContext } from './cloud-fault-case.ts';

export const certaintyCases: readonly CloudFaultCase[] = [
  {
    name: 'each wording of "gone" is understood where the service uses it',
    async run(context) {
      assert.ok(context.gone.length > 0);
      for (const wording of context.gone) await assertGone(context, wording);
    },
  },
  {
    name: 'a failing service is not a missing sandbox',
    async run({ create, provider, signal, faults, matches, refusal }) {
      const { ref } = await create();
      for (const status of [500, 502, 503]) {
        const armed = faults.arm(matches.find, { kind: 'answer', answer: refusal(status, 'find') }, ALWAYS);
        await assertRejects(provider.attach(ref, signal), 'PROVIDER_UNAVAILABLE');
        armed.release();
      }
      const armed = faults.arm(matches.list, { kind: 'answer', answer: refusal(500, 'list') }, ALWAYS);
      await assertRejects(collect(provider.list({}, signal)), 'PROVIDER_UNAVAILABLE');
      armed.release();
      assert.equal((await provider.attach(ref, signal))?.state, 'running');
    },
  },
  {
    name: 'a service that cannot be reached is not a missing sandbox',
    async run({ create, provider, signal, faults, matches }) {
      const { ref } = await create();
      const armed = [matches.find, matches.list].map((match) => faults.arm(match, { kind: 'unreachable' }, ALWAYS));
      await assertRejects(provider.attach(ref, signal), 'PROVIDER_UNAVAILABLE');
      await assertRejects(collect(provider.list({}, signal)), 'PROVIDER_UNAVAILABLE');
      for (const each of armed) each.release();
      assert.equal((await provider.attach(ref, signal))?.state, 'running');
    },
  },
  {
    name: 'a connection that breaks in the middle of a command is taken up without a loss, or gives no exit code and the command is ended',
    async run({ create, faults, matches }) {
      const { commands } = await create();
      const armed = faults.arm(matches.exec, { kind: 'dropped', afterBytes: 200 });
      const lines = Array.from({ length: 200 }, (_, index) => `line ${index} of many, long enough to be sent\n`);
      const outcome = await commands
        .run(
          'i=0; while [ $i -lt 200 ]; do echo "line $i of many, long enough to be sent"; echo beat >>beats; sleep 0.02; i=$((i+1)); done',
        )
        .catch((cause: unknown) => cause as Error);
      assert.ok(armed.met > 0, 'nothing was dropped');
      armed.release();
      if (!(outcome instanceof Error)) {
        assertExit(outcome, 0);
        assert.equal(outcome.stdout, lines.join(''));
        return;
      }
      await assertRejects(Promise.reject(outcome), 'PROVIDER_UNAVAILABLE');
      const { stdout } = await commands.run('wc -c <beats; sleep 0.4; wc -c <beats');
      const [first, later] = stdout.trim().split(/\s+/);
      assert.equal(first, later, 'the command lives on');
    },
  },
  {
    name: 'a sandbox whose deletion is stuck is not taken for a running one, and goes in the end',
    applies: ({ stickDeleting }) => stickDeleting !== undefined,
    async run({ create, provider, signal, stickDeleting, count }) {
      const before = await count();
      const { ref } = await create();
      stickDeleting?.(true);
      const giveUp = AbortSignal.any([signal, AbortSignal.timeout(500)]);
      await provider.destroy(ref, giveUp).catch(() => undefined);
      const seen = await provider.attach(ref, signal).catch(() => undefined);
      assert.notEqual(seen?.state, 'running');
      stickDeleting?.(false);
      await provider.destroy(ref, signal);
      assert.equal(await provider.attach(ref, signal), undefined);
      assert.equal(await count(), before);
    },
  },
];

async function assertGone(context: CloudFaultContext, wording: CloudFaultContext['gone'][number]): Promise<void> {
  const { provider, signal, faults, matches, create } = context;
  const sandbox = await create();
  const armed = faults.arm(matches[wording.operation], { kind: 'answer', answer: wording.answer }, ALWAYS);
  switch (wording.operation) {
    case 'exec':
      await assertRejects(sandbox.commands.run('true'), 'SANDBOX_LOST', 'SANDBOX_NOT_FOUND');
      break;
    case 'find':
      assert.equal(await provider.attach(sandbox.ref, signal), undefined, wording.name);
      break;
    case 'destroy':
      await provider.destroy(sandbox.ref, signal);
      break;
    case 'create':
    case 'list':
      assert.fail(`${wording.operation} is not asked about a sandbox`);
  }
  assert.ok(armed.met > 0, `nobody asked: ${wording.name}`);
  armed.release();
}
