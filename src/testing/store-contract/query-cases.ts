/** Searching and counting sandboxes. */
import assert from 'node:assert/strict';
import { SANDBOX_STATES } from '../../core/states.ts';
import { ids, sandboxIn, sandboxRow, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

export const queryCases: readonly StoreContractCase[] = [
  {
    name: 'lists sandboxes newest first, whatever their states',
    async run({ store }) {
      await sandboxIn(store, 'running', { id: 'sbx_b', createdAt: T0 + 2 });
      await sandboxIn(store, 'paused', { id: 'sbx_a', createdAt: T0 + 1 });
      await sandboxIn(store, 'destroyed', { id: 'sbx_d', createdAt: T0 + 4 });
      await sandboxIn(store, 'running', { id: 'sbx_c', createdAt: T0 + 3 });
      assert.deepEqual(ids(await store.findSandboxes({})), ['sbx_d', 'sbx_c', 'sbx_b', 'sbx_a']);
    },
  },
  {
    name: 'narrows by each field of a query and by all of them together',
    async run({ store }) {
      const own = { provider: 'docker', ownerId: 'own_x', sessionKey: 'app:u:t', ephemeral: true, dueAt: T0 };
      await sandboxIn(store, 'running', { ...own, id: 'sbx_yes' });
      await sandboxIn(store, 'running', { ...own, id: 'sbx_provider', provider: 'namespace' });
      await sandboxIn(store, 'running', { ...own, id: 'sbx_owner', ownerId: 'own_y' });
      await sandboxIn(store, 'running', { ...own, id: 'sbx_session', sessionKey: undefined });
      await sandboxIn(store, 'running', { ...own, id: 'sbx_ephemeral', ephemeral: false });
      await sandboxIn(store, 'running', { ...own, id: 'sbx_due', dueAt: undefined });
      await sandboxIn(store, 'paused', { ...own, id: 'sbx_state' });
      const all = ['due', 'ephemeral', 'owner', 'provider', 'session', 'state', 'yes'].map((name) => `sbx_${name}`);
      const without = (name: string): readonly string[] => all.filter((id) => id !== `sbx_${name}`);

      const find = async (query: Parameters<typeof store.findSandboxes>[0]): Promise<readonly string[]> =>
        ids(await store.findSandboxes(query)).toSorted();
      assert.deepEqual(await find({ provider: 'docker' }), without('provider'));
      assert.deepEqual(await find({ ownerId: 'own_x' }), without('owner'));
      assert.deepEqual(await find({ sessionKey: 'app:u:t' }), without('session'));
      assert.deepEqual(await find({ ephemeral: true }), without('ephemeral'));
      assert.deepEqual(await find({ ephemeral: false }), ['sbx_ephemeral']);
      assert.deepEqual(await find({ states: ['running'] }), without('state'));
      assert.deepEqual(await find({ dueBy: T0 }), without('due'));
      const { dueAt, ...fields } = own;
      assert.deepEqual(await find({ ...fields, states: ['running'], dueBy: dueAt, idPrefix: 'sbx_' }), ['sbx_yes']);
    },
  },
  {
    name: 'finds any of several states, and nothing when no state is allowed',
    async run({ store }) {
      for (const state of SANDBOX_STATES) await sandboxIn(store, state, { id: `sbx_${state}` });
      const found = await store.findSandboxes({ states: ['paused', 'lost'] });
      assert.deepEqual(ids(found).toSorted(), ['sbx_lost', 'sbx_paused']);
      assert.deepEqual(await store.findSandboxes({ states: [] }), []);
      assert.deepEqual(await store.findSandboxes({ states: [], dueBy: T0 }), []);
    },
  },
  {
    name: 'takes an id prefix literally: no wildcard, and the case counts',
    async run({ store }) {
      for (const id of ['sbx_ab1', 'sbx_ab2', 'sbx_b', 'sbxxab', 'SBX_ab', 'sbx%', 'sbx_ab~']) {
        await store.insertSandbox(sandboxRow({ id }));
      }
      const find = async (idPrefix: string): Promise<readonly string[]> =>
        ids(await store.findSandboxes({ idPrefix })).toSorted();
      assert.deepEqual(await find('sbx_ab'), ['sbx_ab1', 'sbx_ab2', 'sbx_ab~']);
      assert.deepEqual(await find('sbx_ab1'), ['sbx_ab1']);
      assert.deepEqual(await find('sbx%'), ['sbx%']);
      assert.deepEqual(await find('sbx_ab12'), []);
      assert.equal((await find('')).length, 7);
    },
  },
  {
    name: 'returns what is due, most overdue first, the instant itself included',
    async run({ store }) {
      await sandboxIn(store, 'running', { id: 'sbx_later', dueAt: T0 + 101, createdAt: T0 });
      await sandboxIn(store, 'paused', { id: 'sbx_second', dueAt: T0 + 50, createdAt: T0 + 9 });
      await sandboxIn(store, 'running', { id: 'sbx_third', dueAt: T0 + 100, createdAt: T0 + 1 });
      await sandboxIn(store, 'running', { id: 'sbx_never', createdAt: T0 });
      await store.insertSandbox(sandboxRow({ id: 'sbx_first', dueAt: T0 + 10, createdAt: T0 + 5 }));
      assert.deepEqual(ids(await store.findSandboxes({ dueBy: T0 + 100 })), ['sbx_first', 'sbx_second', 'sbx_third']);
      assert.deepEqual(ids(await store.findSandboxes({ dueBy: T0 + 100, limit: 1 })), ['sbx_first']);
      assert.deepEqual(await store.findSandboxes({ dueBy: T0 + 9 }), []);
    },
  },
  {
    name: 'returns at most the limit, a thousand by default, and all for a limit past the end',
    async run({ store }) {
      for (let index = 0; index < 1005; index += 1) {
        await store.insertSandbox(sandboxRow({ id: `sbx_${index}`, createdAt: T0 + index, dueAt: T0 }));
      }
      assert.equal((await store.findSandboxes({})).length, 1000);
      assert.equal((await store.findSandboxes({ dueBy: T0 })).length, 1000);
      assert.deepEqual(ids(await store.findSandboxes({ limit: 2 })), ['sbx_1004', 'sbx_1003']);
      assert.deepEqual(await store.findSandboxes({ limit: 0 }), []);
      assert.equal((await store.findSandboxes({ limit: Number.MAX_SAFE_INTEGER })).length, 1005);
      assert.equal((await store.findSandboxes({ limit: Infinity })).length, 1005);
    },
  },
  {
    name: 'leaves out the sandboxes of given owners',
    async run({ store }) {
      await sandboxIn(store, 'running', { id: 'sbx_a', ownerId: 'own_a', dueAt: T0 });
      await sandboxIn(store, 'running', { id: 'sbx_b', ownerId: 'own_b', dueAt: T0 });
      assert.deepEqual(ids(await store.findSandboxes({ dueBy: T0, notOwnedBy: ['own_a', 'own_x'] })), ['sbx_b']);
      assert.deepEqual(ids(await store.findSandboxes({ dueBy: T0, notOwnedBy: [] })).toSorted(), ['sbx_a', 'sbx_b']);
    },
  },
  {
    name: 'goes through everything page by page, in the order of ids',
    async run({ store }) {
      for (const id of ['sbx_c', 'sbx_a', 'sbx_d', 'sbx_b']) await sandboxIn(store, 'running', { id });
      await sandboxIn(store, 'destroyed', { id: 'sbx_bb' });
      const page = (afterId: string): ReturnType<typeof store.findSandboxes> =>
        store.findSandboxes({ states: ['running'], afterId, limit: 2 });
      assert.deepEqual(ids(await page('')), ['sbx_a', 'sbx_b']);
      assert.deepEqual(ids(await page('sbx_b')), ['sbx_c', 'sbx_d']);
      assert.deepEqual(await page('sbx_d'), []);
    },
  },
  {
    name: 'goes through what is due page by page, in the order of ids',
    async run({ store }) {
      for (const [id, dueAt] of [
        ['sbx_c', T0 - 3],
        ['sbx_a', T0 - 1],
        ['sbx_d', T0 + 1],
        ['sbx_b', T0],
      ] as const)
        await sandboxIn(store, 'running', { id, dueAt });
      await sandboxIn(store, 'running', { id: 'sbx_aa', dueAt: undefined });
      const page = (afterId: string): ReturnType<typeof store.findSandboxes> =>
        store.findSandboxes({ dueBy: T0, afterId, limit: 2 });
      assert.deepEqual(ids(await page('')), ['sbx_a', 'sbx_b']);
      assert.deepEqual(ids(await page('sbx_b')), ['sbx_c']);
    },
  },
  {
    name: 'counts by kind, with zero for a kind that has none',
    async run({ store }) {
      await sandboxIn(store, 'running', { kind: 'app' });
      await sandboxIn(store, 'running', { kind: 'app', provider: 'docker' });
      await sandboxIn(store, 'paused', { kind: 'app', ephemeral: true });
      await sandboxIn(store, 'destroyed', { kind: 'execution' });
      assert.deepEqual({ ...(await store.countSandboxes({})) }, { execution: 1, app: 3, desktop: 0 });
      const count = async (query: Parameters<typeof store.countSandboxes>[0]): Promise<number> =>
        (await store.countSandboxes(query)).app;
      assert.equal(await count({ states: ['running'] }), 2);
      assert.equal(await count({ states: ['running', 'paused'], provider: 'namespace' }), 2);
      assert.equal(await count({ ephemeral: true }), 1);
      assert.equal(await count({ states: [] }), 0);
    },
  },
];
