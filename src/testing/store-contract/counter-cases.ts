/** Counters: sums over the life of the store. */
import assert from 'node:assert/strict';
import type { CounterRow } from '../../store/store.ts';
import type { StoreContractCase } from './store-case.ts';

export const counterCases: readonly StoreContractCase[] = [
  {
    name: 'counts nothing at first',
    async run({ store }) {
      const rows = await store.counters();
      assert.equal(
        rows.reduce((sum, row) => sum + row.value, 0),
        0,
      );
    },
  },
  {
    name: 'adds to each counter of each kind, several times in one call too',
    async run({ store }) {
      await store.addToCounters([
        { kind: 'app', name: 'created', value: 1 },
        { kind: 'execution', name: 'created', value: 10 },
        { kind: 'app', name: 'created', value: 2 },
      ]);
      await store.addToCounters([
        { kind: 'app', name: 'created', value: 4 },
        { kind: 'app', name: 'healthCheckFailures', value: 1 },
      ]);
      await store.addToCounters([]);
      assert.deepEqual(byName(await store.counters()), {
        'app created': 7,
        'execution created': 10,
        'app healthCheckFailures': 1,
      });
    },
  },
];

function byName(rows: readonly CounterRow[]): Readonly<Record<string, number>> {
  return Object.fromEntries(rows.filter((row) => row.value !== 0).map((row) => [`${row.kind} ${row.name}`, row.value]));
}
