/** Sightings, turns and placements: what processes that clean up tell each other. */
import assert from 'node:assert/strict';
import { assertSame, sandboxRow, sessionRow, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

export const ledgerCases: readonly StoreContractCase[] = [
  {
    name: 'counts the passes in which something was seen, and forgets it when it was not',
    async run({ store: { ledger } }) {
      assertSame(await ledger.sight('a', ['x', 'y', 'x'], T0), [
        { name: 'x', firstAt: T0, count: 1 },
        { name: 'y', firstAt: T0, count: 1 },
      ]);
      assertSame(await ledger.sight('a', ['x'], T0 + 60), [{ name: 'x', firstAt: T0, count: 2 }]);
      assertSame(await ledger.sight('a', ['x', 'y'], T0 + 120), [
        { name: 'x', firstAt: T0, count: 3 },
        { name: 'y', firstAt: T0 + 120, count: 1 },
      ]);
      assertSame(await ledger.sight('a', [], T0 + 180), []);
      assertSame(await ledger.sightings('a'), []);
    },
  },
  {
    name: 'counts from now what was first seen under a clock that has been set back since',
    async run({ store: { ledger } }) {
      await ledger.sight('a', ['x'], T0 + 1_000_000);
      assertSame(await ledger.sight('a', ['x'], T0), [{ name: 'x', firstAt: T0, count: 2 }]);
      assertSame(await ledger.sight('a', ['x'], T0 + 5), [{ name: 'x', firstAt: T0, count: 3 }]);
    },
  },
  {
    name: 'keeps the sightings of each scope apart, and shows them without counting',
    async run({ store, openAgain }) {
      await store.ledger.sight('a', ['x'], T0);
      await store.ledger.sight('b', ['x'], T0 + 1);
      await store.ledger.sight('b', [], T0 + 2);
      const other = await openAgain();
      assertSame(await other.ledger.sightings('a'), [{ name: 'x', firstAt: T0, count: 1 }]);
      assertSame(await other.ledger.sightings('a'), [{ name: 'x', firstAt: T0, count: 1 }]);
    },
  },
  {
    name: 'gives a turn to one process until it is over, and again to the same',
    async run({ store, openAgain }) {
      const other = await openAgain();
      assert.equal(await store.ledger.claimTurn('list', 'own_a', T0, 100), true);
      assert.equal(await other.ledger.claimTurn('list', 'own_b', T0 + 99, 100), false);
      assert.equal(await other.ledger.claimTurn('another', 'own_b', T0 + 99, 100), true);
      assert.equal(await store.ledger.claimTurn('list', 'own_a', T0 + 50, 100), true);
      assert.equal(await other.ledger.claimTurn('list', 'own_b', T0 + 149, 100), false);
      assert.equal(await other.ledger.claimTurn('list', 'own_b', T0 + 150, 100), true);
    },
  },
  {
    name: 'does not wait for a turn that ends later than any turn can',
    async run({ store: { ledger } }) {
      await ledger.claimTurn('list', 'own_a', T0 + 1_000_000, 100);
      assert.equal(await ledger.claimTurn('list', 'own_b', T0, 100), true);
    },
  },
  {
    name: 'lets one of many concurrent claims have the turn',
    async run({ store, openAgain }) {
      const handles = [store, await openAgain()];
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          (handles[index % 2] ?? store).ledger.claimTurn('list', `own_${index}`, T0, 100),
        ),
      );
      assert.equal(results.filter(Boolean).length, 1);
    },
  },
  {
    name: 'remembers every provider and profile a sandbox was made with',
    async run({ store }) {
      assertSame(await store.ledger.placements(), []);
      await store.insertSandbox(sandboxRow());
      await store.insertSandbox(sandboxRow());
      await store.insertSandbox(sandboxRow({ profile: 'big' }));
      await store.claimSession(sessionRow('execution:u:t'), sandboxRow({ provider: 'local', profile: 'big' }));
      const placements = await store.ledger.placements();
      assert.deepEqual(placements.map(({ provider, profile }) => `${provider}/${profile}`).toSorted(), [
        'local/big',
        'namespace/big',
        'namespace/default',
      ]);
    },
  },
];
