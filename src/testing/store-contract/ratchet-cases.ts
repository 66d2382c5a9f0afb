/** The network of a session only tightens. */
import assert from 'node:assert/strict';
import { isAtLeastAsTight, NETWORK_LEVELS, tighter } from '../../core/network.ts';
import { assertSame, sandboxRow, sessionIn, sessionRow, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

const KEY = 'execution:u:t';

export const ratchetCases: readonly StoreContractCase[] = [
  {
    name: 'tightens session and sandbox together, with the reason and one event',
    async run({ store }) {
      const before = await sessionIn(store, KEY, 'running');
      const after = (await store.tightenSession(KEY, 'none', 'customer data read', T0 + 9)) ?? assert.fail();
      assert.equal(after.session.network, 'none');
      assert.equal(after.session.privateReason, 'customer data read');
      assert.equal(after.sandbox.network, 'none');
      assert.ok(after.session.version > before.session.version);
      assert.ok(after.sandbox.version > before.sandbox.version);
      assertSame(await store.getSession(KEY), after);
      const [event] = await store.listEvents({ descending: true, limit: 1 });
      assertSame(event, {
        seq: event?.seq,
        at: T0 + 9,
        type: 'network.tightened',
        sandboxId: before.sandbox.id,
        sessionKey: KEY,
        cause: 'customer data read',
        details: { from: 'open', to: 'none' },
      });
    },
  },
  {
    name: 'changes nothing for a weaker or the same level, and appends nothing',
    async run({ store }) {
      await sessionIn(store, KEY, 'running');
      const tight = await store.tightenSession(KEY, 'allowlist', 'first', T0);
      const events = await store.listEvents({});
      assertSame(await store.tightenSession(KEY, 'open', 'weaker', T0 + 1), tight);
      assertSame(await store.tightenSession(KEY, 'allowlist', 'same', T0 + 1), tight);
      assertSame(await store.getSession(KEY), tight);
      assertSame(await store.listEvents({}), events);
    },
  },
  {
    name: 'ends at the tightest level ever asked for, whatever the order',
    async run({ store }) {
      for (const first of NETWORK_LEVELS) {
        for (const second of NETWORK_LEVELS) {
          const key = `execution:${first}:${second}`;
          await sessionIn(store, key, 'running');
          await store.tightenSession(key, first, 'first', T0);
          await store.tightenSession(key, second, 'second', T0);
          const bound = (await store.getSession(key)) ?? assert.fail();
          assert.equal(bound.session.network, tighter(first, second), key);
          assert.equal(bound.sandbox.network, tighter(first, second), key);
        }
      }
    },
  },
  {
    name: 'returns undefined for a key without a session',
    async run({ store }) {
      assert.equal(await store.tightenSession(KEY, 'none', 'no one', T0), undefined);
      assert.deepEqual(await store.listEvents({}), []);
    },
  },
  {
    name: 'leaves a sandbox that is tighter than its session as tight as it is',
    async run({ store }) {
      await sessionIn(store, KEY, 'running', { network: 'none' });
      const bound = (await store.tightenSession(KEY, 'allowlist', 'why', T0)) ?? assert.fail();
      assert.equal(bound.session.network, 'allowlist');
      assert.equal(bound.sandbox.network, 'none');
    },
  },
  {
    name: 'binds no sandbox that is weaker than the session asks',
    async run({ store }) {
      const claim = await store.claimSession(sessionRow(KEY, { network: 'allowlist' }), sandboxRow());
      assert.equal(claim.bound.sandbox.network, 'allowlist');
    },
  },
  {
    name: 'carries the ratchet and its reason over to the sandbox that replaces',
    async run({ store }) {
      const { sandbox } = await sessionIn(store, KEY, 'running');
      await store.tightenSession(KEY, 'none', 'customer data read', T0);
      const { bound } = await store.replaceSandbox(KEY, sandbox.id, sandboxRow({ network: 'open' }));
      assert.equal(bound?.session.network, 'none');
      assert.equal(bound?.session.privateReason, 'customer data read');
      assert.equal(bound?.sandbox.network, 'none');
    },
  },
  {
    name: 'is not undone by a claim that asks for a weaker network',
    async run({ store }) {
      await sessionIn(store, KEY, 'running');
      await store.tightenSession(KEY, 'none', 'why', T0);
      const { bound } = await store.claimSession(sessionRow(KEY, { network: 'open' }), sandboxRow());
      assert.ok(isAtLeastAsTight(bound.session.network, 'none'));
    },
  },
];
