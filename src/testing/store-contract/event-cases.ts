/** Events: appended, numbered, filtered, pruned. */
import assert from 'node:assert/strict';
import type { EventFilter, NewEvent } from '../../core/events.ts';
import type { Store } from '../../store/store.ts';
import { assertSame, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

export const eventCases: readonly StoreContractCase[] = [
  {
    name: 'appends events in order, with every field as it was given',
    async run({ store }) {
      const full: NewEvent = {
        at: T0,
        type: 'health.failed',
        sandboxId: 'sbx_a',
        sessionKey: 'app:ü:t',
        ownerId: 'own_a',
        cause: 'no answer in 5 s – 返事なし',
        details: { attempts: 3, nested: { list: [1, null, 'x'] }, big: Number.MAX_SAFE_INTEGER },
      };
      const bare: NewEvent = { at: T0 + 1, type: 'sandbox.lost', cause: '' };
      await store.appendEvents([full, bare]);
      await store.appendEvents([]);
      const [first, second, ...more] = await store.listEvents({});
      assert.deepEqual(more, []);
      assertSame(first, { ...full, seq: first?.seq });
      assertSame(second, { ...bare, seq: second?.seq });
      assert.equal(second?.sandboxId, undefined);
      assert.equal(second?.sessionKey, undefined);
      assert.equal(second?.ownerId, undefined);
      assert.equal(second?.details, undefined);
      assert.ok((second?.seq ?? 0) > (first?.seq ?? 0));
    },
  },
  {
    name: 'filters events by sandbox and by session',
    async run({ store }) {
      await append(store, ['a', 'b', 'a']);
      assert.deepEqual(await causes(store, { sandboxId: 'sbx_a' }), ['0', '2']);
      assert.deepEqual(await causes(store, { sessionKey: 'app:u:b' }), ['1']);
      assert.deepEqual(await causes(store, { sandboxId: 'sbx_a', sessionKey: 'app:u:b' }), []);
    },
  },
  {
    name: 'lists oldest first, newest first when asked, and no more than the limit',
    async run({ store }) {
      await append(store, ['a', 'b', 'a', 'b']);
      assert.deepEqual(await causes(store, {}), ['0', '1', '2', '3']);
      assert.deepEqual(await causes(store, { limit: 2 }), ['0', '1']);
      assert.deepEqual(await causes(store, { descending: true, limit: 2 }), ['3', '2']);
      assert.deepEqual(await causes(store, { descending: true, sandboxId: 'sbx_a' }), ['2', '0']);
      assert.deepEqual(await causes(store, { limit: 0 }), []);
      assert.deepEqual(await causes(store, { limit: Infinity }), ['0', '1', '2', '3']);
    },
  },
  {
    name: 'continues after a cursor, and pages through everything once',
    async run({ store }) {
      await append(
        store,
        Array.from({ length: 7 }, () => 'a'),
      );
      const seen: string[] = [];
      for (let after = 0; ;) {
        const page = await store.listEvents({ after, limit: 3 });
        seen.push(...page.map((event) => event.cause));
        const last = page.at(-1);
        if (last === undefined) break;
        after = last.seq;
      }
      assert.deepEqual(seen, ['0', '1', '2', '3', '4', '5', '6']);
      const [, , third] = await store.listEvents({});
      assert.deepEqual(await causes(store, { after: third?.seq, descending: true }), ['6', '5', '4', '3']);
    },
  },
  {
    name: 'lists a thousand events by default, and prunes any number',
    async run({ store }) {
      await append(
        store,
        Array.from({ length: 1001 }, () => 'a'),
      );
      assert.equal((await store.listEvents({})).length, 1000);
      assert.equal((await store.listEvents({ limit: 2000 })).length, 1001);
      assert.equal(await store.pruneEvents(1), 1000);
      assert.deepEqual(await causes(store, {}), ['1000']);
    },
  },
  {
    name: 'prunes all but the newest, and never gives a number twice',
    async run({ store }) {
      await append(store, ['a', 'a', 'a', 'a']);
      const newest = (await store.listEvents({})).at(-1) ?? assert.fail();
      assert.equal(await store.pruneEvents(4), 0);
      assert.equal(await store.pruneEvents(10), 0);
      assert.equal(await store.pruneEvents(1), 3);
      assert.deepEqual(await causes(store, {}), ['3']);
      assert.equal(await store.pruneEvents(0), 1);
      await append(store, ['b']);
      const [next] = await store.listEvents({ after: newest.seq });
      assert.equal(next?.sandboxId, 'sbx_b', 'a reader’s cursor misses nothing');
    },
  },
];

/** One event for each letter: its sandbox and session are named after the letter, its cause is its place. */
async function append(store: Store, letters: readonly string[]): Promise<void> {
  await store.appendEvents(
    letters.map((letter, index) => ({
      at: T0 + index,
      type: 'health.failed',
      sandboxId: `sbx_${letter}`,
      sessionKey: `app:u:${letter}`,
      cause: String(index),
    })),
  );
}

async function causes(store: Store, filter: EventFilter): Promise<readonly string[]> {
  return (await store.listEvents(filter)).map((event) => event.cause);
}
