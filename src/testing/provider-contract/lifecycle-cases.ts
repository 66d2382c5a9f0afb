/** Create, attach, destroy, list: what happens twice, at once, and when the caller gives up. */
import assert from 'node:assert/strict';
import { assertExit, assertRejects, collect, outputOf, type ProviderCase } from './provider-case.ts';

export const lifecycleCases: readonly ProviderCase[] = [
  {
    name: 'create gives a running sandbox with a working directory',
    async run({ create }) {
      const sandbox = await create();
      assert.equal(sandbox.state, 'running');
      assert.equal((await outputOf(sandbox, 'pwd')).trim(), sandbox.workdir);
      assertExit(await sandbox.commands.run('touch made && test -w .'), 0);
    },
  },
  {
    name: 'create with the same name gives the same sandbox',
    async run({ provider, spec, signal }) {
      const wanted = spec();
      const first = await provider.create(wanted, signal);
      await first.files.write('mark', 'first');
      const again = await provider.create(wanted, signal);
      assert.equal(await again.files.readText('mark'), 'first');
    },
  },
  {
    name: 'concurrent creates of one name make one sandbox',
    async run({ provider, spec, signal, second }) {
      const wanted = spec();
      const providers = [provider, await second(), provider, await second()];
      const handles = await Promise.all(providers.map((each) => each.create(wanted, signal)));
      await handles[0]?.files.write('mark', 'one');
      for (const handle of handles) assert.equal(await handle.files.readText('mark'), 'one');
      if (provider.capabilities.has('labels'))
        assert.equal((await collect(provider.list(wanted.labels, signal))).length, 1);
    },
  },
  {
    name: 'concurrent creates of several names make separate sandboxes',
    async run({ create }) {
      const sandboxes = await Promise.all(Array.from({ length: 4 }, () => create()));
      await Promise.all(sandboxes.map((sandbox, index) => sandbox.files.write('mine', String(index))));
      const found = await Promise.all(sandboxes.map((sandbox) => sandbox.files.readText('mine')));
      assert.deepEqual(found, ['0', '1', '2', '3']);
    },
  },
  {
    name: 'attach finds what was made, also from another process',
    async run({ create, provider, signal, second }) {
      const made = await create();
      await made.files.write('mark', 'kept');
      for (const finder of [provider, await second()]) {
        const found = await finder.attach(made.ref, signal);
        assert.equal(found?.state, 'running');
        assert.equal(await found.files.readText('mark'), 'kept');
        await found.close();
      }
    },
  },
  {
    name: 'attach never creates',
    async run({ provider, spec, signal }) {
      const { name, labels } = spec();
      assert.equal(await provider.attach({ name }, signal), undefined);
      assert.equal(await provider.attach({ name }, signal), undefined);
      assert.deepEqual(await collect(provider.list(labels, signal)), []);
    },
  },
  {
    name: 'destroy leaves nothing to attach to or to list',
    async run({ provider, spec, signal, second }) {
      const wanted = spec();
      const { ref } = await provider.create(wanted, signal);
      await provider.destroy(ref, signal);
      assert.equal(await provider.attach(ref, signal), undefined);
      assert.equal(await (await second()).attach(ref, signal), undefined);
      assert.deepEqual(await collect(provider.list(wanted.labels, signal)), []);
    },
  },
  {
    name: 'destroy succeeds on what is already gone, never was, or is being destroyed',
    async run({ create, provider, spec, signal }) {
      await provider.destroy({ name: spec().name }, signal);
      const { ref } = await create();
      await Promise.all([provider.destroy(ref, signal), provider.destroy(ref, signal)]);
      await provider.destroy(ref, signal);
      assert.equal(await provider.attach(ref, signal), undefined);
    },
  },
  {
    name: 'a name can be used again after destroy, and nothing of the old sandbox is there',
    async run({ provider, spec, signal }) {
      const wanted = spec();
      const old = await provider.create(wanted, signal);
      await old.files.write('secret', 'x');
      await provider.destroy(old.ref, signal);
      const fresh = await provider.create(wanted, signal);
      assert.equal(await fresh.files.exists('secret'), false);
    },
  },
  {
    name: 'list gives everything that carries the labels, and nothing else',
    needs: ['labels'],
    async run({ create, provider, signal, second }) {
      const team = { team: crypto.randomUUID() };
      const [a, b] = await Promise.all([
        create({ labels: { ...team, n: 'a' } }),
        create({ labels: { ...team, n: 'b' } }),
        create({ labels: { n: 'a' } }),
      ]);
      const names = async (filter: Record<string, string>): Promise<string[]> =>
        (await collect((await second()).list(filter, signal))).map((listed) => listed.ref.name).sort();
      assert.deepEqual(await names(team), [a.ref.name, b.ref.name].sort());
      assert.deepEqual(await names({ ...team, n: 'b' }), [b.ref.name]);
      const [listed] = await collect(provider.list({ ...team, n: 'a' }, signal));
      assert.deepEqual({ ...listed?.labels }, { ...team, n: 'a' });
      assert.equal(listed?.state, 'running');
    },
  },
  {
    name: 'a create that was aborted before it began makes nothing',
    async run({ provider, spec, signal }) {
      const wanted = spec();
      await assertRejects(provider.create(wanted, AbortSignal.abort()), 'ABORTED');
      assert.equal(await provider.attach({ name: wanted.name }, signal), undefined);
    },
  },
  {
    name: 'a create that is aborted halfway leaves nothing that destroy does not remove',
    async run({ provider, spec, signal }) {
      for (const delayMs of [0, 1, 5, 20]) {
        const wanted = spec();
        const giveUp = new AbortController();
        const timer = setTimeout(() => giveUp.abort(), delayMs);
        const result = await provider.create(wanted, giveUp.signal).catch((error: unknown) => error);
        clearTimeout(timer);
        if (result instanceof Error) await assertRejects(Promise.reject(result), 'ABORTED');
        await provider.destroy({ name: wanted.name }, signal);
        assert.equal(await provider.attach({ name: wanted.name }, signal), undefined);
        assert.deepEqual(await collect(provider.list(wanted.labels, signal)), []);
      }
    },
  },
  {
    name: 'closing a handle twice is harmless and leaves the sandbox as it is',
    async run({ create, provider, signal }) {
      const sandbox = await create();
      await sandbox.files.write('mark', 'kept');
      await sandbox.close();
      await sandbox.close();
      const again = await provider.attach(sandbox.ref, signal);
      assert.equal(await again?.files.readText('mark'), 'kept');
    },
  },
  {
    name: 'closing a provider twice is harmless and leaves its sandboxes to others',
    async run({ create, provider, signal, second }) {
      const { ref } = await create();
      const other = await second();
      if (other !== provider) {
        await (await other.attach(ref, signal))?.commands.run('true');
        await other.close();
        await other.close();
      }
      const found = await provider.attach(ref, signal);
      assert.equal((await found?.commands.run('echo alive'))?.stdout, 'alive\n');
    },
  },
];
