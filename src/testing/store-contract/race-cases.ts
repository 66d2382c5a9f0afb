/** Races over two handles on the same rows: one winner, no lost update. */
import assert from 'node:assert/strict';
import type { Store } from '../../store/store.ts';
import { assertSame, moveTo, sandboxIn, sandboxRow, sessionIn, sessionRow, T0 } from './rows.ts';
import type { StoreContractCase, StoreSubject } from './store-case.ts';

const KEY = 'execution:u:t';

export const raceCases: readonly StoreContractCase[] = [
  {
    name: 'lets one of a hundred concurrent claims win, and shows the others its binding',
    async run(subject) {
      const results = await race(subject, 100, (store) => store.claimSession(sessionRow(KEY), sandboxRow()));
      const winners = results.filter(({ won }) => won);
      assert.equal(winners.length, 1);
      for (const { bound } of results) assertSame(bound, winners[0]?.bound);
      assert.equal((await subject.store.findSandboxes({})).length, 1);
      assert.equal((await subject.store.listEvents({})).length, 2);
    },
  },
  {
    name: 'lets one of many concurrent replacements win, and shows the others its binding',
    async run(subject) {
      const { sandbox } = await sessionIn(subject.store, KEY, 'lost');
      const results = await race(subject, 50, (store) => store.replaceSandbox(KEY, sandbox.id, sandboxRow()));
      const winners = results.filter(({ won }) => won);
      assert.equal(winners.length, 1);
      for (const { bound } of results) assertSame(bound, winners[0]?.bound);
      assert.equal((await subject.store.findSandboxes({})).length, 2);
    },
  },
  {
    name: 'lets one of many concurrent moves of one sandbox win, with one event',
    async run(subject) {
      const { id } = await sandboxIn(subject.store, 'running');
      const results = await race(subject, 50, (store) => store.moveSandbox(id, moveTo('destroying')));
      assert.equal(results.filter((sandbox) => sandbox !== undefined).length, 1);
      const events = await subject.store.listEvents({ sandboxId: id });
      assert.equal(events.filter((event) => event.type === 'sandbox.destroying').length, 1);
    },
  },
  {
    name: 'lets one of many patches of the same version win',
    async run(subject) {
      const { id, version } = await sandboxIn(subject.store, 'running');
      const results = await race(subject, 50, (store, index) =>
        store.patchSandbox(id, { providerId: `p${index}` }, version),
      );
      const [winner, ...others] = results.filter((sandbox) => sandbox !== undefined);
      assert.deepEqual(others, []);
      assertSame(await subject.store.getSandbox(id), winner);
    },
  },
  {
    name: 'lets one of many concurrent removals win',
    async run(subject) {
      const { sandbox } = await sessionIn(subject.store, KEY, 'running');
      const results = await race(subject, 20, (store) => store.removeSession(KEY, sandbox.id, 'asked', T0));
      assert.equal(results.filter(Boolean).length, 1);
    },
  },
  {
    name: 'ends at the latest of concurrent activities',
    async run(subject) {
      const { id } = await sandboxIn(subject.store, 'running');
      await race(subject, 50, (store, index) => {
        const at = T0 + 1 + ((index * 17) % 50);
        return store.touch([{ sandboxId: id, lastActiveAt: at, dueAt: at + 1000 }]);
      });
      const sandbox = (await subject.store.getSandbox(id)) ?? assert.fail();
      assert.equal(sandbox.lastActiveAt, T0 + 50);
      assert.equal(sandbox.dueAt, T0 + 1050);
    },
  },
  {
    name: 'loses no count and gives every event a number of its own',
    async run(subject) {
      await race(subject, 50, async (store) => {
        await store.addToCounters([{ kind: 'app', name: 'reused', value: 2 }]);
        await store.appendEvents([{ at: T0, type: 'health.failed', cause: 'no answer' }]);
      });
      assertSame(await subject.store.counters(), [{ kind: 'app', name: 'reused', value: 100 }]);
      const numbers = (await subject.store.listEvents({})).map((event) => event.seq);
      assert.equal(new Set(numbers).size, 50);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
    },
  },
];

async function race<T>(
  { store, openAgain }: StoreSubject,
  attempts: number,
  attempt: (store: Store, index: number) => Promise<T>,
): Promise<readonly T[]> {
  const handles = [store, await openAgain()];
  return Promise.all(
    Array.from({ length: attempts }, (_, index) => attempt(handles[index % handles.length] ?? store, index)),
  );
}
