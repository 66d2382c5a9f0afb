/** The adapter through the real SDK, against a server on loopback with real sandboxes behind it. */
import { expect, it } from 'vitest';
import { serveNamespaces } from '../../../test/setup/serve-namespaces.ts';
import { describeServiceAdapter } from '../../../test/setup/service-adapter.ts';
import { BoxliteServer, refusalBody } from './boxlite-server.fixture.ts';
import { provider as module } from './index.ts';

const KEY = 'blk_test_key';
const SPEC = { labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;

const refused = (status: number, message: string): { status: number; body: unknown } => ({
  status,
  body: refusalBody({ status, message }),
});

describeServiceAdapter({
  title: 'the boxlite provider at a server',
  module,
  start: () => serveNamespaces((backing) => new BoxliteServer(backing, KEY)),
  secrets: { BOXLITE_API_KEY: KEY },
  options: ({ url }) => ({ url }),
  sandboxes: (server) => server.sandboxes,
  removesAtOnce: true,
  facts: (server) => ({
    faults: server.faults,
    matches: {
      create: ({ method, path }) => method === 'POST' && path === '/v1/boxes',
      find: ({ method, path }) => method === 'GET' && /^\/v1\/boxes\/[^/?]+$/.test(path),
      list: ({ method, path }) => method === 'GET' && path.startsWith('/v1/boxes?'),
      destroy: ({ method }) => method === 'DELETE',
      // The call that starts a command answers when all is over; what it writes comes with those that follow.
      exec: ({ path }) => path.endsWith('/attach') && server.executions.count > 1,
    },
    refusal: (status) => refused(status, `refused with ${status}`),
    gone: [
      { name: 'by id', operation: 'find', answer: refused(404, 'box not found: 01HJ') },
      { name: 'when removed twice', operation: 'destroy', answer: refused(404, 'box not found: 01HJ') },
    ],
  }),
  more: (subject) => {
    it('takes another server’s 404 for a failure, and not for the loss of the sandbox', async ({ signal }) => {
      const { provider, server } = subject;
      const { ref } = await provider.create({ ...SPEC, name: 'sublet-elsewhere' }, signal);
      const elsewhere = { kind: 'answer', answer: { status: 404, body: '<html>nginx</html>' } } as const;
      server.faults.arm(({ method }) => method === 'GET', elsewhere, 4);
      await expect(provider.attach(ref, signal)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
      server.faults.clear();
      await provider.destroy(ref, signal);
    });

    it('tells the server what to do when nobody is left, and nothing that is secret', async ({ signal }) => {
      const { server, context } = subject;
      const sized = await module.open(context({ cpus: 2, memoryMiB: 256, diskGiB: 3 }));
      const names = ['sublet-ttla', 'sublet-ttlb'] as const;
      const env = { SECRET: 'hush' };
      await sized.create({ ...SPEC, name: names[0], ephemeral: true, deadManMs: 90_500, env }, signal);
      await sized.create({ ...SPEC, name: names[1], network: 'open', image: 'python:3.12-slim' }, signal);
      expect(server.created.slice(-2)).toMatchObject([
        { auto_stop: 91, auto_delete: 151, auto_resume: false, cpus: 2, memory_mib: 256, disk_size_gb: 3 },
        { auto_stop: 3600, auto_delete: 0, image: 'python:3.12-slim', network: { outbound: { mode: 'enabled' } } },
      ]);
      expect(JSON.stringify(server.created)).not.toContain('hush');
      const missing = sized.create({ ...SPEC, name: 'sublet-noimage', image: 'missing' }, signal);
      await expect(missing).rejects.toMatchObject({ code: 'CREATE_FAILED' });
      await Promise.all(names.map((name) => sized.destroy({ name }, signal)));
      await sized.close();
    });

    it('gives the labels of the engine back to whoever lists, and its network to whoever attaches', async ({
      signal,
    }) => {
      const labels = {
        'sublet.installation': 'ins_0123456789abcdef',
        'sublet.sandbox': 'sbx_00112233445566aa',
        'sublet.owner': 'own_fedcba9876543210',
        'sublet.key-hash': 'a'.repeat(32),
      };
      const name = 'sublet-00112233445566aa';
      const other = await module.open(subject.context());
      await subject.provider.create({ ...SPEC, name, labels, network: 'open' }, signal);
      const listed = [];
      for await (const each of other.list({ 'sublet.installation': 'ins_0123456789abcdef' }, signal)) listed.push(each);
      expect(listed).toMatchObject([{ ref: { name }, labels, state: 'running' }]);
      expect((await other.attach({ name }, signal))?.network).toBe('open');
      await other.destroy({ name }, signal);
      await other.close();
    });

    it('leaves alone what has a name like ours and none of our marks', async ({ signal }) => {
      const { provider, server } = subject;
      const { id } = await server.sandboxes.create({ name: 'sublet-foreign', labels: { team: 'other' } });
      expect(await provider.attach({ name: 'sublet-foreign' }, signal)).toBeUndefined();
      await provider.destroy({ name: 'sublet-foreign' }, signal);
      expect(server.sandboxes.get(id)?.state).toBe('running');
    });
  },
});
