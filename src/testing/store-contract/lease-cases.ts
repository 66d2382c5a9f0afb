/** Leases: one holder, tokens that only grow, and no lease on what is going away. */
import assert from 'node:assert/strict';
import type { LeaseWish } from '../../store/leases.ts';
import type { SandboxRecord } from '../../store/records.ts';
import { assertSame, moveTo, sandboxIn, sandboxRow, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

export const leaseCases: readonly StoreContractCase[] = [
  {
    name: 'leases a sandbox to one holder, with a token and an end',
    async run({ store }) {
      const { id, version } = await sandboxIn(store, 'running');
      const leased = (await store.leases.acquire(id, wish())) ?? assert.fail();
      assertSame(leased.lease, { token: 1, holder: 'worker', ownerId: 'own_a', ttlMs: 1000, expiresAt: T0 + 1000 });
      assert.equal(leased.version, version + 1);
      assertSame(await store.getSandbox(id), leased);
      assert.equal(await store.leases.acquire(id, wish({ ownerId: 'own_b', at: T0 + 999 })), undefined);
      assertSame(await store.getSandbox(id), leased);
    },
  },
  {
    name: 'leases what is paused or stopped, and nothing that is being made, going or gone',
    async run({ store }) {
      for (const state of ['paused', 'stopped'] as const) {
        const { id } = await sandboxIn(store, state);
        assert.ok(await store.leases.acquire(id, wish()), state);
      }
      for (const state of ['creating', 'destroying', 'destroyed', 'lost'] as const) {
        const { id } = await sandboxIn(store, state);
        assert.equal(await store.leases.acquire(id, wish()), undefined, state);
      }
      assert.equal(await store.leases.acquire('sbx_unknown', wish()), undefined);
    },
  },
  {
    name: 'gives an expired lease to the next with a greater token, and tells of the one passed over',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      await store.leases.acquire(id, wish());
      const taken = (await store.leases.acquire(id, wish({ ownerId: 'own_b', at: T0 + 1000 }))) ?? assert.fail();
      assert.equal(taken.lease?.token, 2);
      assert.equal(taken.lease.ownerId, 'own_b');
      const told = (await store.listEvents({ sandboxId: id })).slice(-2);
      assertSame(
        told.map(({ type, ownerId, details }) => [type, ownerId, details]),
        [
          ['lease.lost', 'own_a', { token: 1 }],
          ['lease.acquired', 'own_b', { token: 2 }],
        ],
      );
    },
  },
  {
    name: 'passes over an expired lease only if it is the one that was judged',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      await store.leases.acquire(id, wish());
      assert.equal(await store.leases.acquire(id, wish({ at: T0 + 5000, over: 7 })), undefined);
      assert.equal((await store.leases.acquire(id, wish({ at: T0 + 5000, over: 1 })))?.lease?.token, 2);
      await store.leases.release(id, 2, 'done', T0 + 5000);
      assert.equal((await store.leases.acquire(id, wish({ at: T0 + 5000, over: 1 })))?.lease?.token, 3);
    },
  },
  {
    name: 'renews with the present token only, also after its end when nobody took it',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      await store.leases.acquire(id, wish());
      assert.equal((await store.leases.renew(id, 1, T0 + 500))?.lease?.expiresAt, T0 + 1500);
      assert.equal((await store.leases.renew(id, 1, T0 + 9000))?.lease?.expiresAt, T0 + 10_000);
      await store.leases.acquire(id, wish({ at: T0 + 10_000 }));
      assert.equal(await store.leases.renew(id, 1, T0 + 10_001), undefined);
      assert.equal((await lease(await store.getSandbox(id))).token, 2);
    },
  },
  {
    name: 'releases with the present token only, and never gives a token twice',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      await store.leases.acquire(id, wish());
      assert.equal(await store.leases.release(id, 7, 'done', T0), undefined);
      const released = (await store.leases.release(id, 1, 'done', T0 + 1)) ?? assert.fail();
      assert.equal(released.lease, undefined);
      assert.equal(await store.leases.release(id, 1, 'done', T0 + 2), undefined);
      assert.equal((await store.listEvents({ sandboxId: id })).at(-1)?.type, 'lease.released');
      assert.equal((await store.leases.acquire(id, wish()))?.lease?.token, 2);
    },
  },
  {
    name: 'keeps a lease through pause and resume, and ends it with the sandbox',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      await store.leases.acquire(id, wish());
      assert.equal((await store.moveSandbox(id, moveTo('paused')))?.lease?.token, 1);
      assert.equal((await store.moveSandbox(id, moveTo('running')))?.lease?.token, 1);
      assert.equal((await store.moveSandbox(id, moveTo('destroying')))?.lease, undefined);
      assert.equal(await store.leases.renew(id, 1, T0), undefined);
      assert.equal((await store.getSandbox(id))?.fence, 1);
    },
  },
  {
    name: 'lets one of many concurrent takers have the lease',
    async run({ store, openAgain }) {
      const { id } = await store.insertSandbox(sandboxRow());
      await store.moveSandbox(id, moveTo('running'));
      const handles = [store, await openAgain()];
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          (handles[index % 2] ?? store).leases.acquire(id, wish({ ownerId: `own_${index}` })),
        ),
      );
      const [winner, ...others] = results.filter((row) => row !== undefined);
      assert.deepEqual(others, []);
      assertSame(await store.getSandbox(id), winner);
    },
  },
];

function wish(fields: Partial<LeaseWish> = {}): LeaseWish {
  return { holder: 'worker', ownerId: 'own_a', ttlMs: 1000, at: T0, ...fields };
}

async function lease(row: SandboxRecord | undefined): Promise<NonNullable<SandboxRecord['lease']>> {
  return row?.lease ?? assert.fail('no lease');
}
