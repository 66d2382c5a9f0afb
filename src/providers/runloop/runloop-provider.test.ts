/** The adapter through the real SDK, against a server on loopback with real sandboxes behind it. */
import { expect, it } from 'vitest';
import { serveNamespaces } from '../../../test/setup/serve-namespaces.ts';
import { describeServiceAdapter } from '../../../test/setup/service-adapter.ts';
import { provider as module } from './index.ts';
import { NO_NETWORK, RunloopServer } from './runloop-server.fixture.ts';

const KEY = 'ak_test_key';

const refused = (status: number, message: string): { status: number; body: unknown } => ({ status, body: { message } });

describeServiceAdapter({
  title: 'the runloop provider',
  module,
  start: () => serveNamespaces((backing) => new RunloopServer(backing, KEY)),
  secrets: { RUNLOOP_API_KEY: KEY },
  options: ({ url }) => ({ baseUrl: url, cwd: '/workspace', noNetworkPolicy: NO_NETWORK }),
  sandboxes: (server) => server.sandboxes,
  facts: (server) => ({
    faults: server.faults,
    matches: {
      create: ({ method, path }) => method === 'POST' && path === '/v1/devboxes',
      find: ({ method, path }) => method === 'GET' && /^\/v1\/devboxes\/[^/?]+$/.test(path),
      list: ({ method, path }) => method === 'GET' && path.startsWith('/v1/devboxes?'),
      destroy: ({ path }) => path.includes('/shutdown'),
      // The call that starts a command answers when all is over; what it writes comes with those that follow.
      exec: ({ path }) => /\/execute(\?|$)/.test(path) && server.executing > 0,
    },
    refusal: (status) => refused(status, `refused with ${status}`),
    gone: [
      { name: 'by id', operation: 'find', answer: refused(404, 'Devbox dbx_1 not found') },
      { name: 'when shut down twice', operation: 'destroy', answer: refused(404, 'Devbox dbx_1 not found') },
    ],
  }),
  more: (subject) => {
    it('cannot close the network without a policy of the account', async ({ signal }) => {
      const open = await module.open(subject.context({ noNetworkPolicy: undefined }));
      expect(open.capabilities.has('network-none')).toBe(false);
      const spec = { name: 'sublet-x', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
      await expect(open.create(spec, signal)).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
    });
  },
});
