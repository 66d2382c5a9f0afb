/** Sandbox rows: the intent, patches, activity, pruning. */
import assert from 'node:assert/strict';
import { SubletError } from '../../core/errors.ts';
import { SANDBOX_STATES } from '../../core/states.ts';
import { assertSame, moveTo, OWNER, sandboxIn, sandboxRow, sessionIn, T0 } from './rows.ts';
import type { StoreContractCase } from './store-case.ts';

export const sandboxCases: readonly StoreContractCase[] = [
  {
    name: 'inserts the intent: a row in creating with its event, in one step',
    async run({ store }) {
      const row = sandboxRow({ sessionKey: 'execution:u:t', dueAt: T0 + 1 });
      const sandbox = await store.insertSandbox(row);
      assertSame(sandbox, {
        ...row,
        state: 'creating',
        stateAt: T0,
        lastActiveAt: T0,
        fence: 0,
        heirs: [],
        version: sandbox.version,
      });
      assert.equal(sandbox.providerId, undefined);
      assertSame(await store.getSandbox(row.id), sandbox);
      const [event, ...more] = await store.listEvents({});
      assertSame(more, []);
      assertSame(event, {
        seq: event?.seq,
        at: T0,
        type: 'sandbox.creating',
        sandboxId: row.id,
        sessionKey: 'execution:u:t',
        ownerId: OWNER,
        cause: row.cause,
      });
    },
  },
  {
    name: 'refuses a second sandbox with the same id, and appends nothing for it',
    async run({ store }) {
      const row = sandboxRow();
      const sandbox = await store.insertSandbox(row);
      await assert.rejects(store.insertSandbox({ ...row, cause: 'again' }), (error: unknown) =>
        SubletError.is(error, 'STATE_CONFLICT'),
      );
      assertSame(await store.getSandbox(row.id), sandbox);
      assert.equal((await store.listEvents({})).length, 1);
    },
  },
  {
    name: 'returns undefined for a sandbox it does not know',
    async run({ store }) {
      assert.equal(await store.getSandbox('sbx_none'), undefined);
      assert.equal(await store.patchSandbox('sbx_none', { providerId: 'x' }), undefined);
      assert.equal(await store.moveSandbox('sbx_none', moveTo('running')), undefined);
      assert.deepEqual(await store.listEvents({}), []);
    },
  },
  {
    name: 'gives back every field as it was given, large limits and odd texts included',
    async run({ store }) {
      const row = sandboxRow({
        name: 'söndag – 日曜日 🏖️',
        profile: `it's "quoted"; drop table sandboxes; --`,
        kind: 'desktop',
        ephemeral: true,
        network: 'allowlist',
        policy: {
          autoStopMinutes: 0.0003,
          idleAction: 'stop',
          autoDeleteMinutes: 525_600,
          onExit: 'keep',
          onLost: 'fail',
          timeoutSeconds: 1,
          healthCheck: false,
        },
        spec: {
          image: 'registry.example/image:tag',
          limits: { memoryBytes: 2 ** 45, cpuMillis: 1500, pids: 4096, diskBytes: Number.MAX_SAFE_INTEGER },
          mounts: [{ source: '/data/ünï', target: '/mnt/a b', readOnly: false }],
          contextId: 'ctx%_',
        },
        dueAt: T0 + 17.999999999999996,
        deadManAt: T0 + 2,
        cause: 'line one\nline two\ttab',
      });
      await store.insertSandbox(row);
      const sandbox = (await store.getSandbox(row.id)) ?? assert.fail();
      assertSame({ ...sandbox, ...row }, sandbox);
    },
  },
  {
    name: 'gives back undefined fields as undefined',
    async run({ store }) {
      const { id } = await store.insertSandbox(sandboxRow());
      const sandbox = (await store.getSandbox(id)) ?? assert.fail();
      assert.equal(sandbox.sessionKey, undefined);
      assert.equal(sandbox.providerId, undefined);
      assert.equal(sandbox.dueAt, undefined);
      assert.equal(sandbox.deadManAt, undefined);
      assert.equal(sandbox.spec.image, undefined);
    },
  },
  {
    name: 'does not let a caller change what is kept through a row it gave or got',
    async run({ store }) {
      const limits = { memoryBytes: 1 };
      const { id } = await store.insertSandbox(sandboxRow({ spec: { limits } }));
      limits.memoryBytes = 2;
      const first = (await store.getSandbox(id)) ?? assert.fail();
      assert.equal(first.spec.limits?.memoryBytes, 1);
      // Takes effect on a copy and not on a frozen row; both are right.
      Reflect.set(first, 'cause', 'tampered');
      assert.equal((await store.getSandbox(id))?.cause, 'asked by a test');
    },
  },
  {
    name: 'patches exactly the fields that are given, and grows the version',
    async run({ store }) {
      const before = await sandboxIn(store, 'running', { dueAt: T0 + 5, deadManAt: T0 + 6 });
      const after = await store.patchSandbox(before.id, { providerId: 'prov-1', ownerId: 'own_b', hostId: 'host-b' });
      assertSame(after, {
        ...before,
        providerId: 'prov-1',
        ownerId: 'own_b',
        heirs: [OWNER],
        hostId: 'host-b',
        version: after?.version,
      });
      assert.ok((after?.version ?? 0) > before.version);
      assertSame(await store.getSandbox(before.id), after);
    },
  },
  {
    name: 'remembers who had a sandbox before, the last one last and nobody twice',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      for (const ownerId of ['own_b', 'own_c', OWNER]) await store.patchSandbox(id, { ownerId });
      assertSame((await store.getSandbox(id))?.heirs, ['own_b', 'own_c']);
      await store.moveSandbox(id, moveTo('paused'));
      await store.moveSandbox(id, { ...moveTo('running'), patch: { ownerId: 'own_d' } });
      assertSame((await store.getSandbox(id))?.heirs, ['own_b', 'own_c', OWNER]);
      await store.patchSandbox(id, { ownerId: 'own_c', heirs: ['own_b'] });
      assertSame((await store.getSandbox(id))?.heirs, ['own_b']);
    },
  },
  {
    name: 'remembers nobody for what was made for one purpose',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running', { ephemeral: true });
      await store.patchSandbox(id, { ownerId: 'own_b' });
      assertSame((await store.getSandbox(id))?.heirs, []);
    },
  },
  {
    name: 'clears a field that the patch names as undefined',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running', { dueAt: T0 + 5, deadManAt: T0 + 6 });
      await store.patchSandbox(id, { providerId: 'prov-1' });
      await store.patchSandbox(id, { dueAt: undefined, providerId: undefined });
      const sandbox = (await store.getSandbox(id)) ?? assert.fail();
      assert.equal(sandbox.dueAt, undefined);
      assert.equal(sandbox.providerId, undefined);
      assert.equal(sandbox.deadManAt, T0 + 6);
    },
  },
  {
    name: 'patches nothing when the version differs',
    async run({ store }) {
      const first = await store.insertSandbox(sandboxRow());
      const second = (await store.patchSandbox(first.id, { providerId: 'a' }, first.version)) ?? assert.fail();
      assert.equal(await store.patchSandbox(first.id, { providerId: 'b' }, first.version), undefined);
      assertSame(await store.getSandbox(first.id), second);
    },
  },
  {
    name: 'appends no event for a patch',
    async run({ store }) {
      const { id } = await store.insertSandbox(sandboxRow());
      await store.patchSandbox(id, { providerId: 'a' });
      assert.equal((await store.listEvents({})).length, 1);
    },
  },
  {
    name: 'never records a weaker network for a sandbox than it had',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running', { network: 'allowlist' });
      assert.equal((await store.patchSandbox(id, { network: 'none' }))?.network, 'none');
      assert.equal((await store.patchSandbox(id, { network: 'open' }))?.network, 'none');
      assert.equal((await store.moveSandbox(id, moveTo('paused', { patch: { network: 'open' } })))?.network, 'none');
    },
  },
  {
    name: 'takes later activity with its due instant, and grows the version',
    async run({ store }) {
      const before = await sandboxIn(store, 'running', { dueAt: T0 + 5 });
      await store.touch([{ sandboxId: before.id, lastActiveAt: T0 + 100, dueAt: T0 + 200 }]);
      const after = (await store.getSandbox(before.id)) ?? assert.fail();
      assertSame(after, { ...before, lastActiveAt: T0 + 100, dueAt: T0 + 200, version: after.version });
      assert.ok(after.version > before.version, 'a sweep that decided before the activity must lose');
    },
  },
  {
    name: 'keeps the gaps between uses from one activity to the next, and those that a new row brings',
    async run({ store }) {
      const { id, gaps } = await sandboxIn(store, 'running', { gaps: { count: 2, usualMs: 1 / 3 } });
      assert.deepEqual(gaps, { count: 2, usualMs: 1 / 3 });
      await store.touch([{ sandboxId: id, lastActiveAt: T0 + 1, dueAt: undefined }]);
      assert.deepEqual((await store.getSandbox(id))?.gaps, gaps);
      await store.touch([
        { sandboxId: id, lastActiveAt: T0 + 2, dueAt: undefined, gaps: { count: 3, usualMs: 60_000 } },
      ]);
      assert.deepEqual((await store.getSandbox(id))?.gaps, { count: 3, usualMs: 60_000 });
      assert.equal((await sandboxIn(store, 'running')).gaps, undefined);
    },
  },
  {
    name: 'never lets older activity overwrite newer, nor its due instant',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      await store.touch([{ sandboxId: id, lastActiveAt: T0 + 100, dueAt: T0 + 200 }]);
      const newest = await store.getSandbox(id);
      await store.touch([
        { sandboxId: id, lastActiveAt: T0 + 50, dueAt: T0 + 999 },
        { sandboxId: id, lastActiveAt: T0 + 100, dueAt: undefined },
      ]);
      assertSame(await store.getSandbox(id), newest);
    },
  },
  {
    name: 'takes the latest of several activities of one sandbox, whatever their order',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      await store.touch([
        { sandboxId: id, lastActiveAt: T0 + 300, dueAt: undefined },
        { sandboxId: id, lastActiveAt: T0 + 100, dueAt: T0 + 200 },
      ]);
      const sandbox = (await store.getSandbox(id)) ?? assert.fail();
      assert.equal(sandbox.lastActiveAt, T0 + 300);
      assert.equal(sandbox.dueAt, undefined);
    },
  },
  {
    name: 'passes over activity of a sandbox it does not know and takes the rest',
    async run({ store }) {
      const { id } = await sandboxIn(store, 'running');
      await store.touch([
        { sandboxId: 'sbx_none', lastActiveAt: T0 + 1, dueAt: undefined },
        { sandboxId: id, lastActiveAt: T0 + 1, dueAt: T0 + 2 },
      ]);
      assert.equal((await store.getSandbox(id))?.dueAt, T0 + 2);
    },
  },
  {
    name: 'lets activity move the due instant only of what is running, paused or stopped',
    async run({ store }) {
      for (const state of SANDBOX_STATES) {
        const before = await sandboxIn(store, state, { dueAt: T0 + 5 });
        await store.touch([{ sandboxId: before.id, lastActiveAt: T0 + 9000, dueAt: T0 + 9999 }]);
        const moved = ['running', 'paused', 'stopped'].includes(state);
        assert.equal((await store.getSandbox(before.id))?.dueAt, moved ? T0 + 9999 : T0 + 5, state);
      }
    },
  },
  {
    name: 'prunes destroyed and lost rows that are older and no session’s, and says how many',
    async run({ store }) {
      const old = await sandboxIn(store, 'destroyed');
      const lost = await sandboxIn(store, 'lost');
      const live = await Promise.all(
        (['creating', 'running', 'paused', 'stopped', 'destroying'] as const).map((state) => sandboxIn(store, state)),
      );
      const { sandbox: bound } = await sessionIn(store, 'execution:u:t', 'destroyed');
      const young = await sandboxIn(store, 'destroying');
      await store.moveSandbox(young.id, moveTo('destroyed', { at: T0 + 9000 }));

      assert.equal(await store.pruneSandboxes(T0 + 1000), 0, 'not older than their own instant');
      assert.equal(await store.pruneSandboxes(T0 + 1001), 2);
      for (const gone of [old, lost]) assert.equal(await store.getSandbox(gone.id), undefined);
      for (const kept of [...live, bound, young]) assert.ok(await store.getSandbox(kept.id));
      assert.equal(await store.pruneSandboxes(T0 + 1001), 0);
    },
  },
];
