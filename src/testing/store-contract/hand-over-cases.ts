/** A key goes from one sandbox to another: both rows and the binding at once, or none of them. */
import assert from 'node:assert/strict';
import type { HandOver } from '../../store/leases.ts';
import type { BoundSession, SandboxRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { assertSame, moveTo, sandboxIn, sandboxRow, sessionIn, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

const KEY = 'execution:u:t';

export const handOverCases: readonly StoreContractCase[] = [
  {
    name: 'hands a key over to what was filled for it, and sends off what it had, with both events',
    async run({ store }) {
      const { bound, target, move } = await filled(store);
      const moved = (await store.leases.handOver(KEY, move)) ?? assert.fail();
      assertSame(await store.getSession(KEY), moved.bound);
      assertSame(moved.bound.session, {
        ...bound.session,
        sandboxId: target.id,
        profile: 'elsewhere',
        version: bound.session.version + 1,
      });
      assertSame(moved.bound.sandbox, { ...target, ephemeral: false, version: target.version + 1 });
      const left = (await store.getSandbox(bound.sandbox.id)) ?? assert.fail();
      assertSame(left, moved.left);
      assertSame(
        [left.state, left.stateAt, left.cause, left.ownerId, left.dueAt, left.lease],
        ['destroying', T0 + 7, 'migrated', 'own_a', T0 + 99, undefined],
      );
      const events = (await store.listEvents({ sessionKey: KEY })).slice(-2);
      assertSame(
        events.map(({ type, sandboxId, ownerId, cause }) => [type, sandboxId, ownerId, cause]),
        [
          ['sandbox.destroying', left.id, 'own_a', 'migrated'],
          ['session.migrated', target.id, 'own_a', 'migrated'],
        ],
      );
    },
  },
  {
    name: 'hands nothing over without the lease, from another sandbox, or a second time',
    async run({ store }) {
      const { move } = await filled(store);
      await changesNothing(store, { ...move, token: move.token + 1 });
      await changesNothing(store, { ...move, from: move.to });
      await changesNothing(store, { ...move, to: 'sbx_unknown' });
      await store.leases.handOver(KEY, move);
      await changesNothing(store, move);
      assert.equal(await store.leases.handOver('execution:u:none', move), undefined);
    },
  },
  {
    name: 'hands nothing over to what does not run or is another key’s',
    async run({ store }) {
      const { move } = await filled(store);
      for (const state of ['creating', 'paused', 'stopped', 'destroying', 'destroyed', 'lost'] as const) {
        const { id } = await sandboxIn(store, state, { sessionKey: KEY });
        await changesNothing(store, { ...move, to: id });
      }
      const other = await sandboxIn(store, 'running', { sessionKey: 'execution:u:other' });
      await changesNothing(store, { ...move, to: other.id });
    },
  },
  {
    name: 'hands nothing over to a weaker network than the session has come to',
    async run({ store }) {
      const { move } = await filled(store);
      await store.tightenSession(KEY, 'none', 'private', T0);
      await changesNothing(store, move);
      await store.patchSandbox(move.to, { network: 'none' });
      assert.equal((await store.leases.handOver(KEY, move))?.bound.sandbox.network, 'none');
    },
  },
  {
    name: 'hands a key over to one of several that want it',
    async run({ store }) {
      const { move } = await filled(store);
      const other = await sandboxIn(store, 'running', { sessionKey: KEY });
      const results = await Promise.all([
        store.leases.handOver(KEY, move),
        store.leases.handOver(KEY, { ...move, to: other.id }),
      ]);
      const won = results.filter((result) => result !== undefined);
      assert.equal(won.length, 1);
      assertSame(await store.getSession(KEY), won[0]?.bound);
    },
  },
];

async function filled(
  store: Store,
): Promise<{ readonly bound: BoundSession; readonly target: SandboxRecord; readonly move: HandOver }> {
  const { sandbox } = await sessionIn(store, KEY, 'running');
  const wish = { holder: 'mover', ownerId: 'own_a', ttlMs: 60_000, at: T0 };
  const leased = (await store.leases.acquire(sandbox.id, wish)) ?? assert.fail();
  const row = sandboxRow({ sessionKey: KEY, ephemeral: true, profile: 'elsewhere', network: 'open' });
  await store.insertSandbox(row);
  const target = (await store.moveSandbox(row.id, moveTo('running'))) ?? assert.fail();
  const bound = (await store.getSession(KEY)) ?? assert.fail();
  const move = {
    from: sandbox.id,
    to: target.id,
    token: leased.lease?.token ?? assert.fail(),
    at: T0 + 7,
    cause: 'migrated',
    ownerId: 'own_a',
    dueAt: T0 + 99,
  };
  return { bound, target, move };
}

async function changesNothing(store: Store, move: HandOver): Promise<void> {
  const state = async (): Promise<unknown> => [
    await store.getSession(KEY),
    await store.findSandboxes({}),
    await store.listEvents({}),
  ];
  const before = await state();
  assert.equal(await store.leases.handOver(KEY, move), undefined);
  assertSame(await state(), before);
}
