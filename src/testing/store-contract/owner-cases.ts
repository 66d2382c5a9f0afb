/** Owners: who runs. */
import assert from 'node:assert/strict';
import { assertSame, ownerRow, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

export const ownerCases: readonly StoreContractCase[] = [
  {
    name: 'remembers an owner, and replaces it when it is put again',
    async run({ store }) {
      const owner = ownerRow();
      await store.putOwner(owner);
      assertSame(await store.getOwner(owner.id), owner);
      const beating = { ...owner, heartbeatAt: T0 + 5000 };
      await store.putOwner(beating);
      assertSame(await store.getOwner(owner.id), beating);
      assertSame(await store.listOwners(), [beating]);
    },
  },
  {
    name: 'lists every owner',
    async run({ store }) {
      const owners = [ownerRow({ startedAt: T0 }), ownerRow({ startedAt: T0 + 1 }), ownerRow({ startedAt: T0 + 2 })];
      for (const owner of owners) await store.putOwner(owner);
      const listed = await store.listOwners();
      assertSame(
        listed.toSorted((a, b) => a.startedAt - b.startedAt),
        owners,
      );
    },
  },
  {
    name: 'forgets an owner, also one it never knew',
    async run({ store }) {
      const owner = ownerRow();
      await store.putOwner(owner);
      await store.removeOwner(owner.id);
      await store.removeOwner(owner.id);
      assert.equal(await store.getOwner(owner.id), undefined);
      assert.deepEqual(await store.listOwners(), []);
    },
  },
  {
    name: 'notes a heartbeat, and says when the owner was forgotten meanwhile',
    async run({ store }) {
      const owner = ownerRow();
      assert.equal(await store.heartbeat(owner.id, T0), false);
      await store.putOwner(owner);
      assert.equal(await store.heartbeat(owner.id, T0 + 10), true);
      assertSame(await store.getOwner(owner.id), { ...owner, heartbeatAt: T0 + 10 });
    },
  },
  {
    name: 'forgets an owner only while its heartbeat is the one that was judged',
    async run({ store }) {
      const owner = ownerRow();
      await store.putOwner(owner);
      await store.heartbeat(owner.id, T0 + 10);
      assert.equal(await store.removeOwner(owner.id, T0), false);
      assert.ok(await store.getOwner(owner.id));
      assert.equal(await store.removeOwner(owner.id, T0 + 10), true);
      assert.equal(await store.removeOwner(owner.id), false);
    },
  },
];
