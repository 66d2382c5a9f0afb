/** Sessions: binding a key to a sandbox, re-binding it, letting go. */
import assert from 'node:assert/strict';
import { SubletError } from '../../core/errors.ts';
import { formatSessionKey, type SetMember } from '../../core/session-key.ts';
import { assertSame, moveTo, sandboxRow, sessionIn, sessionRow, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

const KEY = 'execution:u:t';

export const sessionCases: readonly StoreContractCase[] = [
  {
    name: 'binds a key to a new sandbox in creating, with both events, in one step',
    async run({ store }) {
      const sandbox = sandboxRow({ sessionKey: KEY });
      const { won, bound } = await store.claimSession(sessionRow(KEY), sandbox);
      assert.equal(won, true);
      assertSame(bound.session, { ...sessionRow(KEY), sandboxId: sandbox.id, version: bound.session.version });
      assert.equal(bound.session.privateReason, undefined);
      assert.equal(bound.sandbox.state, 'creating');
      assert.equal(bound.sandbox.sessionKey, KEY);
      assertSame(await store.getSession(KEY), bound);
      assertSame(await store.getSandbox(sandbox.id), bound.sandbox);
      const events = await store.listEvents({ sessionKey: KEY, sandboxId: sandbox.id });
      assert.deepEqual(events.map((event) => event.type).toSorted(), ['sandbox.creating', 'session.created']);
    },
  },
  {
    name: 'gives a later claim the present binding, whatever state its sandbox is in, and inserts nothing',
    async run({ store }) {
      const bound = await sessionIn(store, KEY, 'lost');
      const events = await store.listEvents({});
      const late = sandboxRow();
      assertSame(await store.claimSession(sessionRow(KEY, { network: 'none' }), late), { won: false, bound });
      assert.equal(await store.getSandbox(late.id), undefined);
      assertSame(await store.listEvents({}), events);
    },
  },
  {
    name: 'marks the sandbox with the key it is bound to, whatever the caller wrote there',
    async run({ store }) {
      const { bound } = await store.claimSession(sessionRow(KEY), sandboxRow({ sessionKey: undefined }));
      assert.equal(bound.sandbox.sessionKey, KEY);
    },
  },
  {
    name: 'leaves nothing of a claim whose sandbox id is taken',
    async run({ store }) {
      const { id } = await store.insertSandbox(sandboxRow());
      await assert.rejects(store.claimSession(sessionRow(KEY), sandboxRow({ id })), (error: unknown) =>
        SubletError.is(error, 'STATE_CONFLICT'),
      );
      assert.equal(await store.getSession(KEY), undefined);
      assert.equal((await store.listEvents({})).length, 1);
    },
  },
  {
    name: 'finds the sessions whose sandbox is destroyed or lost since before an instant',
    async run({ store }) {
      const ended = await Promise.all([sessionIn(store, 'app:u:a', 'destroyed'), sessionIn(store, 'app:u:b', 'lost')]);
      for (const state of ['creating', 'running', 'paused', 'stopped', 'destroying'] as const)
        await sessionIn(store, `app:u:${state}`, state);
      assert.deepEqual(await store.endedSessions(T0 + 1000), [], 'not older than their own instant');
      const found = await store.endedSessions(T0 + 1001);
      assertSame(
        found.toSorted((one, other) => one.session.key.localeCompare(other.session.key)),
        ended,
      );
      assert.equal((await store.endedSessions(T0 + 1001, 1)).length, 1);
      for (const { session } of found) await store.removeSession(session.key, session.sandboxId, 'ended', T0 + 2000);
      assert.deepEqual(await store.endedSessions(T0 + 1001), []);
      assert.equal(await store.pruneSandboxes(T0 + 1001), 2, 'their sandboxes are no session’s any more');
    },
  },
  {
    name: 'keeps apart keys that differ only in case, form or escaping',
    async run({ store }) {
      const keys = [
        formatSessionKey({ kind: 'execution', user: 'é', task: 't' }),
        formatSessionKey({ kind: 'execution', user: 'e\u0301', task: 't' }),
        formatSessionKey({ kind: 'execution', user: 'É', task: 't' }),
        formatSessionKey({ kind: 'execution', user: 'a:b', task: 't' }),
        formatSessionKey({ kind: 'execution', user: 'a', task: 'b:t' }),
        formatSessionKey({ kind: 'execution', user: 'a%3Ab', task: 't' }),
        formatSessionKey({ kind: 'app', user: '🦊'.repeat(200), task: ' ' }),
      ];
      for (const key of keys) assert.equal((await store.claimSession(sessionRow(key), sandboxRow())).won, true, key);
      for (const key of keys) assert.equal((await store.getSession(key))?.session.key, key);
      assert.equal((await store.listSessions()).length, keys.length);
    },
  },
  {
    name: 'refuses a key with a NUL character rather than cutting it short',
    async run({ store }) {
      const isUsage = (error: unknown): boolean => SubletError.is(error, 'USAGE');
      await assert.rejects(store.claimSession(sessionRow('execution:u\0one:t'), sandboxRow()), isUsage);
      await assert.rejects(store.getSession('execution:u\0two:t'), isUsage);
      assert.deepEqual(await store.listSessions(), []);
    },
  },
  {
    name: 'shows a session with its sandbox as it is now',
    async run({ store }) {
      const { sandbox } = await sessionIn(store, KEY, 'running');
      const paused = await store.moveSandbox(sandbox.id, moveTo('paused'));
      assertSame((await store.getSession(KEY))?.sandbox, paused);
      assert.equal(await store.getSession('execution:u:other'), undefined);
    },
  },
  {
    name: 'lists sessions newest first, up to the limit',
    async run({ store }) {
      for (const [key, age] of [
        ['app:u:2', 2],
        ['app:u:3', 3],
        ['app:u:1', 1],
      ] as const) {
        await store.claimSession(sessionRow(key, { createdAt: T0 + age }), sandboxRow());
      }
      const keys = async (limit?: number): Promise<readonly string[]> =>
        (await store.listSessions(limit)).map(({ session }) => session.key);
      assert.deepEqual(await keys(), ['app:u:3', 'app:u:2', 'app:u:1']);
      assert.deepEqual(await keys(2), ['app:u:3', 'app:u:2']);
    },
  },
  {
    name: 'lists a session with its members, and with nobody else',
    async run({ store }) {
      const key = (user: string, task: string, member?: SetMember): string =>
        formatSessionKey({ kind: 'execution', user, task, member });
      const family = [
        key('u', 't'),
        key('u', 't', { runtime: 'py', slot: 0 }),
        key('u', 't', { runtime: '%/é', slot: 12 }),
      ];
      const others = [
        key('u', 't2'),
        key('u', 't%/py%/0'),
        key('v', 't', { runtime: 'py', slot: 0 }),
        key('u', 't%', { runtime: 'py', slot: 0 }),
      ];
      for (const each of [...family, ...others])
        assert.equal((await store.claimSession(sessionRow(each), sandboxRow())).won, true, each);
      const found = await store.listSessions(Infinity, key('u', 't'));
      assert.deepEqual(found.map(({ session }) => session.key).toSorted(), family.toSorted());
      assert.equal((await store.listSessions(1, key('u', 't'))).length, 1);
    },
  },
  {
    name: 'keeps the last snapshot of a session, through a new sandbox too, and tells of it',
    async run({ store }) {
      const { session, sandbox } = await sessionIn(store, KEY, 'running');
      assert.equal(session.snapshot, undefined);
      const snapshot = { id: 'snap_1', at: T0 + 5, bytes: 2 ** 40, sha256: 'ab'.repeat(32) };
      const kept = await store.keepSnapshot(KEY, { sandboxId: sandbox.id, snapshot, cause: 'asked by a test' });
      assertSame(kept, { ...session, snapshot, version: session.version + 1 });
      assertSame((await store.getSession(KEY))?.session, kept);
      const [told] = (await store.listEvents({ sessionKey: KEY })).filter(({ type }) => type === 'snapshot.taken');
      assertSame(
        [told?.cause, told?.sandboxId, told?.details],
        ['asked by a test', sandbox.id, { id: 'snap_1', bytes: 2 ** 40 }],
      );
      await store.replaceSandbox(KEY, sandbox.id, sandboxRow());
      await store.tightenSession(KEY, 'none', 'private', T0);
      assertSame((await store.getSession(KEY))?.session.snapshot, snapshot);
    },
  },
  {
    name: 'keeps no snapshot of a sandbox that the key is no longer bound to',
    async run({ store }) {
      const { sandbox } = await sessionIn(store, KEY, 'lost');
      await store.replaceSandbox(KEY, sandbox.id, sandboxRow());
      const events = await store.listEvents({});
      const snapshot = { id: 'snap_1', at: T0, bytes: 1, sha256: '' };
      const late = { sandboxId: sandbox.id, snapshot, cause: 'late' };
      assert.equal(await store.keepSnapshot(KEY, late), undefined);
      assert.equal(await store.keepSnapshot('execution:u:none', late), undefined);
      assert.equal((await store.getSession(KEY))?.session.snapshot, undefined);
      assertSame(await store.listEvents({}), events);
    },
  },
  {
    name: 'replaces exactly the expected sandbox, and the session follows it',
    async run({ store }) {
      const before = await sessionIn(store, KEY, 'lost');
      const next = sandboxRow({ profile: 'other', createdAt: T0 + 50, cause: 'the old one is lost' });
      const { won, bound } = await store.replaceSandbox(KEY, before.sandbox.id, next);
      assert.equal(won, true);
      assert.equal(bound?.session.sandboxId, next.id);
      assert.equal(bound?.session.profile, 'other');
      assert.equal(bound?.session.createdAt, before.session.createdAt);
      assert.ok((bound?.session.version ?? 0) > before.session.version);
      assert.equal(bound?.sandbox.state, 'creating');
      assert.equal(bound?.sandbox.sessionKey, KEY);
      assertSame(await store.getSession(KEY), bound);
      assertSame(await store.getSandbox(before.sandbox.id), before.sandbox, 'the old row stays as it is');
      const events = await store.listEvents({ sandboxId: next.id });
      assert.deepEqual(events.map((event) => event.type).toSorted(), ['sandbox.creating', 'session.replaced']);
    },
  },
  {
    name: 'gives a replacement that expected another sandbox the present binding, and inserts nothing',
    async run({ store }) {
      const first = await sessionIn(store, KEY, 'lost');
      const { bound } = await store.replaceSandbox(KEY, first.sandbox.id, sandboxRow());
      const late = sandboxRow();
      assertSame(await store.replaceSandbox(KEY, first.sandbox.id, late), { won: false, bound });
      assert.equal(await store.getSandbox(late.id), undefined);
    },
  },
  {
    name: 'does not bind a key that has no session when asked to replace',
    async run({ store }) {
      const late = sandboxRow();
      const result = await store.replaceSandbox(KEY, 'sbx_none', late);
      assert.equal(result.won, false);
      assert.equal(result.bound, undefined);
      assert.equal(await store.getSandbox(late.id), undefined);
      assert.deepEqual(await store.listEvents({}), []);
    },
  },
  {
    name: 'removes a session only while it is bound to that sandbox, with its event',
    async run({ store }) {
      const { sandbox } = await sessionIn(store, KEY, 'running');
      assert.equal(await store.removeSession(KEY, 'sbx_other', 'wrong', T0 + 1), false);
      assert.ok(await store.getSession(KEY));
      assert.equal(await store.removeSession(KEY, sandbox.id, 'asked', T0 + 2), true);
      assert.equal(await store.getSession(KEY), undefined);
      assert.equal(await store.removeSession(KEY, sandbox.id, 'asked', T0 + 3), false);
      assert.ok(await store.getSandbox(sandbox.id), 'the sandbox is another matter');
      const events = (await store.listEvents({})).filter((event) => event.type === 'session.removed');
      assert.equal(events.length, 1);
      assertSame(events[0], {
        seq: events[0]?.seq,
        at: T0 + 2,
        type: 'session.removed',
        sandboxId: sandbox.id,
        sessionKey: KEY,
        cause: 'asked',
      });
    },
  },
  {
    name: 'binds a removed key anew',
    async run({ store }) {
      const { sandbox } = await sessionIn(store, KEY, 'running');
      await store.removeSession(KEY, sandbox.id, 'asked', T0);
      assert.equal((await store.claimSession(sessionRow(KEY), sandboxRow())).won, true);
    },
  },
];
