/** Moves between states: compare-and-set, legal ones only, each with its event. */
import assert from 'node:assert/strict';
import { canMove, SANDBOX_STATES } from '../../core/states.ts';
import { assertSame, moveTo, OWNER, sandboxIn, sandboxRow, sessionIn, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

export const moveCases: readonly StoreContractCase[] = [
  {
    name: 'makes every legal move and no other, whatever the caller lists in from',
    async run({ store }) {
      for (const from of SANDBOX_STATES) {
        for (const to of SANDBOX_STATES) {
          const before = await sandboxIn(store, from);
          const after = await store.moveSandbox(before.id, moveTo(to, { from: SANDBOX_STATES }));
          assert.equal(after?.state, canMove(from, to) ? to : undefined, `${from} → ${to}`);
          if (after === undefined) assertSame(await store.getSandbox(before.id), before, `${from} → ${to}`);
        }
      }
    },
  },
  {
    name: 'moves with instant, cause and patch in one step, and grows the version',
    async run({ store }) {
      const before = await store.insertSandbox(sandboxRow({ dueAt: T0 + 5 }));
      const after = await store.moveSandbox(
        before.id,
        moveTo('running', {
          at: T0 + 40,
          cause: 'ready',
          patch: { providerId: 'prov-1', lastActiveAt: T0 + 40, dueAt: undefined },
        }),
      );
      assertSame(after, {
        ...before,
        state: 'running',
        stateAt: T0 + 40,
        cause: 'ready',
        providerId: 'prov-1',
        lastActiveAt: T0 + 40,
        dueAt: undefined,
        version: after?.version,
      });
      assert.ok((after?.version ?? 0) > before.version);
      assertSame(await store.getSandbox(before.id), after);
    },
  },
  {
    name: 'appends sandbox.<state> for a move, with who moved it and why',
    async run({ store }) {
      const { sandbox } = await sessionIn(store, 'execution:u:t', 'running');
      await store.moveSandbox(sandbox.id, moveTo('paused', { at: T0 + 7, cause: 'idle', ownerId: 'own_sweeper' }));
      const [event] = await store.listEvents({ descending: true, limit: 1 });
      assertSame(event, {
        seq: event?.seq,
        at: T0 + 7,
        type: 'sandbox.paused',
        sandboxId: sandbox.id,
        sessionKey: 'execution:u:t',
        ownerId: 'own_sweeper',
        cause: 'idle',
      });
      assert.equal((await store.getSandbox(sandbox.id))?.ownerId, OWNER, 'moving is not taking over');
    },
  },
  {
    name: 'appends the event the move names instead of sandbox.<state>',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'paused');
      await store.moveSandbox(id, moveTo('running', { event: 'sandbox.resumed' }));
      assert.equal((await store.listEvents({ descending: true, limit: 1 }))[0]?.type, 'sandbox.resumed');
    },
  },
  {
    name: 'moves only from the states the caller lists',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      assert.equal(await store.moveSandbox(id, moveTo('destroying', { from: ['paused', 'stopped'] })), undefined);
      assert.equal(await store.moveSandbox(id, moveTo('destroying', { from: [] })), undefined);
      const moved = await store.moveSandbox(id, moveTo('destroying', { from: ['paused', 'running'] }));
      assert.equal(moved?.state, 'destroying');
    },
  },
  {
    name: 'moves only the version the caller names',
    async run({ store }) {
      const seen = await sandboxIn(store, 'running');
      await store.touch([{ sandboxId: seen.id, lastActiveAt: T0 + 9000, dueAt: undefined }]);
      const present = (await store.getSandbox(seen.id)) ?? assert.fail();
      assert.equal(await store.moveSandbox(seen.id, moveTo('paused', { version: seen.version })), undefined);
      const moved = await store.moveSandbox(seen.id, moveTo('paused', { version: present.version }));
      assert.equal(moved?.state, 'paused');
    },
  },
  {
    name: 'changes nothing and appends nothing when a move is refused',
    async run({ store }) {
      const before = await sandboxIn(store, 'running');
      const events = await store.listEvents({});
      await store.moveSandbox(before.id, moveTo('creating'));
      await store.moveSandbox(before.id, moveTo('paused', { version: before.version + 1 }));
      await store.moveSandbox(before.id, moveTo('paused', { from: ['stopped'], patch: { providerId: 'x' } }));
      assertSame(await store.getSandbox(before.id), before);
      assertSame(await store.listEvents({}), events);
    },
  },
];
