/** The store itself: its installation id, its handles, its end. */
import assert from 'node:assert/strict';
import { SubletError } from '../../core/errors.ts';
import { assertSame, sandboxRow, sessionRow } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

export const lifecycleCases: readonly StoreContractCase[] = [
  {
    name: 'has an installation id that is the same every time and on every handle',
    async run({ store, openAgain }) {
      const id = await store.installation();
      assert.match(id, /^ins_/);
      assert.equal(await store.installation(), id);
      assert.equal(await (await openAgain()).installation(), id);
    },
  },
  {
    name: 'shows on one handle what another wrote',
    async run({ store, openAgain }) {
      const other = await openAgain();
      const { bound } = await store.claimSession(sessionRow('execution:u:t'), sandboxRow());
      assertSame(await other.getSession('execution:u:t'), bound);
      assert.equal((await other.listEvents({})).length, 2);
    },
  },
  {
    name: 'keeps what was written when the handle that wrote it is closed',
    async run({ store, openAgain }) {
      const writer = await openAgain();
      const sandbox = await writer.insertSandbox(sandboxRow());
      await writer.close();
      assertSame(await store.getSandbox(sandbox.id), sandbox);
    },
  },
  {
    name: 'closes twice without harm, and refuses every use after that with CLOSED',
    async run({ openAgain }) {
      const store = await openAgain();
      await store.close();
      await store.close();
      const isClosed = (error: unknown): boolean => SubletError.is(error, 'CLOSED');
      await assert.rejects(store.installation(), isClosed);
      await assert.rejects(store.getSession('execution:u:t'), isClosed);
      await assert.rejects(store.insertSandbox(sandboxRow()), isClosed);
      await assert.rejects(store.appendEvents([]), isClosed);
      await assert.rejects(store.touch([]), isClosed);
    },
  },
];
