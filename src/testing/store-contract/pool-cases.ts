/** Pools: taking is exclusive and in order, a pool has its limit, and whoever died holds nobody up. */
import assert from 'node:assert/strict';
import type { NewTicket, TakeWish } from '../../store/pools.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { NewSandbox, Store } from '../../store/store.ts';
import { assertSame, moveTo, ownerRow, sandboxIn, sandboxRow, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

const IDLE_MS = 60_000;
const MEMBER = {
  pool: 'python',
  lane: 'lane-1',
  terms: { network: 'open', reuse: 'reset', maxUses: 0, idleMs: IDLE_MS },
} as const;

export const poolCases: readonly StoreContractCase[] = [
  {
    name: 'takes the oldest idle sandbox of the pool, leased to the taker and its own from then on',
    async run({ store }) {
      await idle(store, { createdAt: T0 + 5 });
      const oldest = await idle(store, { createdAt: T0 + 1 });
      const taken = (await store.pools.take(wish())) ?? assert.fail();
      assert.equal(taken.id, oldest.id);
      assertSame(taken.lease, { token: 1, holder: 'h', ownerId: 'own_t', ttlMs: 1000, expiresAt: T0 + 1100 });
      assertSame([taken.ownerId, taken.hostId, taken.hostName], ['own_t', 'host-t', 'tango']);
      assertSame([taken.lastActiveAt, taken.dueAt], [T0 + 100, oldest.dueAt]);
      assertSame(await store.getSandbox(taken.id), taken);
      assert.equal((await store.listEvents({ sandboxId: taken.id })).at(-1)?.type, 'lease.acquired');
    },
  },
  {
    name: 'takes one of the taker’s own before an older one of another, and a running one before any that sleeps',
    async run({ store }) {
      const asleep = await idle(store, { createdAt: T0, ownerId: 'own_t' });
      await store.moveSandbox(asleep.id, moveTo('paused'));
      await idle(store, { createdAt: T0 + 1 });
      const own = await idle(store, { createdAt: T0 + 2, ownerId: 'own_t' });
      assert.equal((await store.pools.take(wish()))?.id, own.id);
      assert.equal((await store.pools.take(wish()))?.state, 'running');
      assert.equal((await store.pools.take(wish()))?.id, asleep.id);
      assert.equal(await store.pools.take(wish()), undefined);
    },
  },
  {
    name: 'takes nothing of another pool, lane or network, nothing that is too old, and nothing that does not wait',
    async run({ store }) {
      await idle(store, { pool: 'other' });
      await idle(store, { lane: 'lane-2' });
      await idle(store, { network: 'none' });
      await idle(store, { terms: { ...MEMBER.terms, expiresAt: T0 + 100 } });
      await sandboxIn(store, 'running');
      for (const state of ['creating', 'stopped', 'destroying', 'destroyed', 'lost'] as const)
        await sandboxIn(store, state, MEMBER);
      const leased = await idle(store);
      await store.leases.acquire(leased.id, { holder: 'h', ownerId: 'own_x', ttlMs: 1, at: T0 });
      assert.equal(await store.pools.take(wish()), undefined);
    },
  },
  {
    name: 'gives each sandbox to one of many who take at once',
    async run({ store, openAgain }) {
      for (let left = 10; left > 0; left--) await idle(store);
      const handles = [store, await openAgain()];
      const takes = Array.from({ length: 30 }, (_, index) =>
        (handles[index % 2] ?? store).pools.take(wish({ ownerId: `own_${index}` })),
      );
      const taken = (await Promise.all(takes)).flatMap((row) => row?.id ?? []);
      assert.equal(new Set(taken).size, taken.length);
      // Who found all locked for a moment asks again.
      for (let left = 10 - taken.length; left > 0; left--) assert.ok(await store.pools.take(wish()));
      assert.equal(await store.pools.take(wish()), undefined);
    },
  },
  {
    name: 'is not released, because what was used is not clean: it is given back or destroyed',
    async run({ store }) {
      await idle(store);
      const { id, fence } = (await store.pools.take(wish())) ?? assert.fail();
      assert.equal(await store.leases.release(id, fence, 'done', T0 + 200), undefined);
      assert.equal(await store.pools.giveBack(id, fence + 1, 'reset', T0 + 200), undefined);
      const back = (await store.pools.giveBack(id, fence, 'reset', T0 + 200)) ?? assert.fail();
      assertSame([back.lease, back.lastActiveAt, back.dueAt], [undefined, T0 + 200, T0 + 200 + IDLE_MS]);
      assert.equal(await store.pools.giveBack(id, fence, 'reset', T0 + 300), undefined);
      assert.equal((await store.listEvents({ sandboxId: id })).at(-1)?.type, 'pool.returned');
      assert.equal((await store.pools.take(wish()))?.lease?.token, 2);
    },
  },
  {
    name: 'is not passed on when its lease has expired: what the last holder left is for nobody',
    async run({ store }) {
      await idle(store);
      const { id } = (await store.pools.take(wish())) ?? assert.fail();
      const later = { holder: 'h', ownerId: 'own_x', ttlMs: 1, at: T0 + 900_000 };
      assert.equal(await store.leases.acquire(id, later), undefined);
      assert.equal(await store.pools.take(wish({ at: T0 + 900_000 })), undefined);
    },
  },
  {
    name: 'destroys what was used only while the lease is the user’s',
    async run({ store }) {
      await idle(store);
      const { id } = (await store.pools.take(wish())) ?? assert.fail();
      assert.equal(await store.moveSandbox(id, moveTo('destroying', { token: 7 })), undefined);
      assert.equal((await store.moveSandbox(id, moveTo('destroying', { token: 1 })))?.state, 'destroying');
    },
  },
  {
    name: 'admits no more than the limit, however many ask at once, and counts hosts apart where asked',
    async run({ store, openAgain }) {
      const handles = [store, await openAgain()];
      const row = (): NewSandbox => sandboxRow(MEMBER);
      const admitted = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          (handles[index % 2] ?? store).pools.admit(row(), { pool: 'python' }, 5),
        ),
      );
      const rows = admitted.filter((sandbox) => sandbox !== undefined);
      assert.equal(rows.length, 5);
      assertSame(await store.getSandbox(rows[0]?.id ?? ''), rows[0]);
      assert.equal(await store.pools.admit(row(), { pool: 'python', hostId: 'host-a' }, 5), undefined);
      assert.ok(await store.pools.admit(row(), { pool: 'python', hostId: 'host-b' }, 5));
      await store.moveSandbox(rows[0]?.id ?? '', moveTo('destroying'));
      assert.equal(await store.pools.admit(row(), { pool: 'python' }, 6), undefined);
      await store.moveSandbox(rows[0]?.id ?? '', moveTo('destroyed'));
      assert.ok(await store.pools.admit(row(), { pool: 'python' }, 6));
    },
  },
  {
    name: 'serves those who wait in the order of coming, before anybody who has no place',
    async run({ store }) {
      const first = await store.pools.queue(ticket());
      const second = await store.pools.queue(ticket({ ownerId: 'own_b' }));
      assert.ok(second > first);
      await idle(store);
      assert.equal(await store.pools.take(wish()), undefined);
      assert.equal(await store.pools.take(wish({ ticket: second })), undefined);
      assert.ok(await store.pools.take(wish({ ticket: first })));
      await idle(store);
      assert.equal(await store.pools.take(wish()), undefined);
      assert.ok(await store.pools.take(wish({ ticket: second })));
      await idle(store);
      assert.ok(await store.pools.take(wish()));
    },
  },
  {
    name: 'lets whoever has no place take what those who wait do not need, and one who waits for another lane holds up nobody',
    async run({ store }) {
      await store.pools.queue(ticket());
      await store.pools.queue(ticket({ lane: 'lane-2' }));
      await idle(store);
      await idle(store);
      assert.ok(await store.pools.take(wish()));
      assert.equal(await store.pools.take(wish()), undefined);
    },
  },
  {
    name: 'passes over who has not been seen for a term, who left, and who came under another clock',
    async run({ store }) {
      for (const id of ['own_a', 'own_b', 'own_c']) await store.putOwner(ownerRow({ id }));
      const silent = await store.pools.queue(ticket());
      const gone = await store.pools.queue(ticket({ ownerId: 'own_b' }));
      await store.pools.queue(ticket({ ownerId: 'own_c', at: T0 + 900_000 }));
      await store.pools.unqueue(gone);
      await store.pools.unqueue(gone);
      await idle(store);
      assert.equal(await store.pools.take(wish()), undefined);
      await store.pools.stay('own_a', T0 + 4_000);
      // Renewed after whoever takes has looked at its clock.
      assert.equal(await store.pools.take(wish()), undefined);
      assert.equal(await store.pools.take(wish({ at: T0 + 8_000 })), undefined);
      assert.equal((await store.pools.counts({ pool: 'python' }, T0 + 8_000)).waiting, 1);
      assert.ok(await store.pools.take(wish({ at: T0 + 9_000 })));
      await idle(store);
      await store.pools.stay('own_a', T0 + 9_000);
      assert.ok(await store.pools.take(wish({ at: T0 + 9_000, ticket: silent })));
    },
  },
  {
    name: 'counts what there is of a pool, and who waits',
    async run({ store }) {
      for (const state of ['creating', 'running', 'running', 'paused', 'stopped', 'destroying', 'destroyed'] as const)
        await sandboxIn(store, state, MEMBER);
      await sandboxIn(store, 'running', { ...MEMBER, hostId: 'host-b' });
      await sandboxIn(store, 'running');
      await store.pools.take(wish());
      await store.pools.queue(ticket());
      await store.pools.queue(ticket({ hostId: 'host-b' }));
      const counts = await store.pools.counts({ pool: 'python' }, T0);
      assertSame(counts, { total: 7, idle: 2, paused: 1, leased: 1, creating: 1, waiting: 2 });
      assert.equal((await store.pools.counts({ pool: 'python', hostId: 'host-b' }, T0)).waiting, 1);
      assert.equal((await store.pools.counts({ pool: 'none' }, T0)).total, 0);
      assert.deepEqual(await store.pools.names(), ['python']);
      assert.equal((await store.findSandboxes({ pool: 'python', states: ['running'] })).length, 3);
    },
  },
  {
    name: 'knows who keeps a pool for as long as that process is on record',
    async run({ store }) {
      const [a, b] = [ownerRow(), ownerRow()];
      await store.putOwner(a);
      await store.putOwner(b);
      await store.pools.keep('python', 'lane-1', a.id);
      await store.pools.keep('python', 'lane-1', b.id);
      await store.pools.keep('python', 'lane-2', b.id);
      await store.pools.keep('other', 'lane-9', a.id);
      const keepers = async (): Promise<readonly string[]> =>
        (await store.pools.keepers('python')).map(({ lane, owner }) => `${owner.id} ${lane}`).toSorted();
      assert.deepEqual(await keepers(), [`${a.id} lane-1`, `${b.id} lane-2`].toSorted());
      await store.removeOwner(a.id);
      assert.deepEqual(await keepers(), [`${b.id} lane-2`]);
      await store.pools.unkeep('python', b.id);
      await store.pools.unkeep('python', b.id);
      assert.deepEqual(await keepers(), []);
    },
  },
  {
    name: 'adds up what is counted of a pool',
    async run({ store, openAgain }) {
      await store.pools.addToTallies([
        { pool: 'python', name: 'hits', value: 2 },
        { pool: 'other', name: 'hits', value: 1 },
      ]);
      await (await openAgain()).pools.addToTallies([{ pool: 'python', name: 'hits', value: 3 }]);
      assertSame(await store.pools.tallies('python'), [{ pool: 'python', name: 'hits', value: 5 }]);
    },
  },
];

function idle(store: Store, fields: Partial<NewSandbox> = {}): Promise<SandboxRecord> {
  return sandboxIn(store, 'running', { ...MEMBER, ...fields });
}

function wish(fields: Partial<TakeWish> = {}): TakeWish {
  const taker = { holder: 'h', ownerId: 'own_t', hostId: 'host-t', hostName: 'tango' };
  return { ...taker, pool: 'python', lane: 'lane-1', network: 'open', ttlMs: 1000, at: T0 + 100, ...fields };
}

function ticket(fields: Partial<NewTicket> = {}): NewTicket {
  return { pool: 'python', lane: 'lane-1', ownerId: 'own_a', hostId: 'host-a', at: T0, ttlMs: 5_000, ...fields };
}
