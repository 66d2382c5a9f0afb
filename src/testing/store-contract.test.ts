import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../core/events.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { PoolScope, TakeWish } from '../store/pools.ts';
import type { Activity, Move, NewSandbox, NewSession, SandboxPatch, SandboxQuery, Store } from '../store/store.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { storeContract } from './store-contract.ts';

describe('the store contract', () => {
  it('names every case once', () => {
    const names = storeContract.map((testCase) => testCase.name);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each<[fault: string, breakIt: (store: Store) => Partial<Store>]>([
    [
      'forgets the version of a move',
      (store) => ({ moveSandbox: (id: string, move: Move) => store.moveSandbox(id, { ...move, version: undefined }) }),
    ],
    [
      'ignores the from-list of a move',
      (store) => ({ moveSandbox: (id: string, move: Move) => store.moveSandbox(id, { ...move, from: undefined }) }),
    ],
    [
      'ignores the version of a patch',
      (store) => ({ patchSandbox: (id: string, patch: SandboxPatch) => store.patchSandbox(id, patch) }),
    ],
    [
      'lets older activity win',
      (store) => ({
        async touch(activities: readonly Activity[]) {
          for (const { sandboxId, ...rest } of activities) await store.patchSandbox(sandboxId, rest);
        },
      }),
    ],
    [
      'reads before it claims instead of claiming at once',
      (store) => ({
        async claimSession(session: NewSession, sandbox: NewSandbox) {
          const bound = await store.getSession(session.key);
          await Promise.resolve();
          if (bound !== undefined) return { won: false, bound };
          return { ...(await store.claimSession(session, sandbox)), won: true };
        },
      }),
    ],
    [
      'replaces whatever is bound',
      (store) => ({
        async replaceSandbox(key: string, _expected: string, sandbox: NewSandbox) {
          const bound = await store.getSession(key);
          return store.replaceSandbox(key, bound?.sandbox.id ?? '', sandbox);
        },
      }),
    ],
    [
      'returns what is due in the order of creation',
      (store) => ({
        async findSandboxes(query: SandboxQuery): Promise<readonly SandboxRecord[]> {
          return (await store.findSandboxes(query)).toSorted((a, b) => b.createdAt - a.createdAt);
        },
      }),
    ],
    ['loses its events', () => ({ appendEvents: async (_events: readonly NewEvent[]) => undefined })],
    [
      'lets newcomers before those who wait',
      (store) => ({ pools: { ...store.pools, take: (wish: TakeWish) => store.pools.take({ ...wish, ticket: 0 }) } }),
    ],
    [
      'lets a pool grow beyond its limit',
      (store) => ({
        pools: {
          ...store.pools,
          admit: (row: NewSandbox, scope: PoolScope) => store.pools.admit(row, scope, Infinity),
        },
      }),
    ],
    ['forgets to count', () => ({ addToCounters: async () => undefined })],
    ['makes an installation id every time', () => ({ installation: async () => `ins_${Math.random()}` })],
  ])('notices a store that %s', async (_fault, breakIt) => {
    const failures: string[] = [];
    for (const { name, run } of storeContract) {
      const rows = createMemoryStore();
      const broken = (store: Store): Store => withMethods(store, breakIt(store));
      await run({ store: broken(rows), openAgain: async () => broken(rows.openAgain()) }).catch(() =>
        failures.push(name),
      );
    }
    expect(failures).not.toEqual([]);
  });
});

/** The store with some methods replaced; the rest keep their own `this`. */
function withMethods(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
}
