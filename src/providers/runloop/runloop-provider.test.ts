/** The adapter through the real SDK, against a server on loopback with real sandboxes behind it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { cloudFaults, type CloudSubject, runCloudFaultCase } from '../../testing/cloud-faults.ts';
import { missingCapabilities, providerContract, runProviderCase } from '../../testing/provider-contract.ts';
import { provider as namespace } from '../namespace/index.ts';
import { provider as module } from './index.ts';
import { NO_NETWORK, RunloopServer } from './runloop-server.fixture.ts';

const KEY = 'ak_test_key';
const hasNamespaces = await requirement('namespace');
// A case of many small files is some hundred calls, each of several processes.
vi.setConfig({ testTimeout: 240_000 });

describe.runIf(hasNamespaces)('the runloop provider', () => {
  let stateDir = '';
  let backing: SandboxProvider;
  let server: RunloopServer;
  let provider: SandboxProvider;

  const context = (key: string | undefined = KEY, options: Record<string, unknown> = {}): ProviderContext => ({
    stateDir,
    clock: systemClock,
    log: { debug() {}, info() {}, warn() {} },
    options: { baseUrl: server.url, cwd: '/workspace', noNetworkPolicy: NO_NETWORK, ...options },
    secret: (name) => (name === 'RUNLOOP_API_KEY' ? key : undefined),
  });

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'sublet-runloop-'));
    const log = { debug() {}, info() {}, warn() {} };
    backing = await namespace.open({ stateDir, clock: systemClock, log, options: {}, secret: () => undefined });
    server = new RunloopServer(backing, KEY);
    await server.open();
    provider = await module.open(context());
  });

  afterEach(() => server.faults.clear());

  afterAll(async () => {
    await provider?.close();
    await server?.close();
    await backing?.close();
    await rm(stateDir, { recursive: true, force: true });
  });

  describe('keeps the contract:', () => {
    const claims = { capabilities: new Set(module.capabilities) };
    for (const testCase of providerContract.filter((each) => missingCapabilities(each, claims).length === 0)) {
      it(testCase.name, ({ signal }) =>
        runProviderCase(testCase, { provider, signal, secondProvider: () => module.open(context()) }),
      );
    }
  });

  describe('when the service fails:', () => {
    const refused = (status: number, message: string): { status: number; body: unknown } => ({
      status,
      body: { message },
    });
    const subject = (): CloudSubject => ({
      provider,
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
      withWrongKey: () => module.open(context('wrong')),
      count: () => server.sandboxes.size,
      makeForeign: async () => {
        const { id } = await server.sandboxes.create({ id: `dbx_f${Date.now()}`, labels: { team: 'other' } });
        return async () => server.sandboxes.get(id)?.state === 'running';
      },
      setPageSize: (size) => {
        server.sandboxes.pageSize = size;
      },
      stickDeleting: (isStuck) => {
        server.sandboxes.isDeletingStuck = isStuck;
      },
    });
    for (const testCase of cloudFaults) {
      it(testCase.name, ({ signal }) => runCloudFaultCase(testCase, subject(), signal));
    }
  });

  it('cannot close the network without a policy of the account', async ({ signal }) => {
    const open = await module.open(context(KEY, { noNetworkPolicy: undefined }));
    expect(open.capabilities.has('network-none')).toBe(false);
    const spec = { name: 'sublet-x', labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
    await expect(open.create(spec, signal)).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
  });

  it('has nothing left at the service', () => {
    expect(server.sandboxes.all().filter(({ labels }) => labels['team'] !== 'other')).toEqual([]);
  });
});
