/** The adapter through the real SDK, and over plain HTTP, against a server on loopback with real sandboxes behind it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../core/system-clock.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider } from '../../provider/provider.ts';
import { cloudFaults, type CloudSubject, runCloudFaultCase } from '../../testing/cloud-faults.ts';
import { missingCapabilities, providerContract, runProviderCase } from '../../testing/provider-contract.ts';
import { requirement } from '../../../test/setup/requirements.ts';
import { provider as namespace } from '../namespace/index.ts';
import { DaytonaServer } from './daytona-server.fixture.ts';
import { provider as module } from './index.ts';

const KEY = 'dtn_test_key';
const hasNamespaces = await requirement('namespace');
// A case of many small files is some hundred calls, each of several processes.
vi.setConfig({ testTimeout: 240_000 });

const TRANSPORTS = [
  { transport: 'sdk', isOld: false, vm: true },
  { transport: 'toolbox', isOld: true, vm: false },
] as const;

describe.runIf(hasNamespaces).each(TRANSPORTS)('the daytona provider over $transport', ({ transport, isOld, vm }) => {
  let stateDir = '';
  let backing: SandboxProvider;
  let server: DaytonaServer;
  let provider: SandboxProvider;

  const context = (key: string | undefined = KEY, options: Record<string, unknown> = {}): ProviderContext => ({
    stateDir,
    clock: systemClock,
    log: { debug() {}, info() {}, warn() {} },
    options: { apiUrl: `${server.url}/api`, target: 'eu', transport, vm, cwd: '/workspace', ...options },
    secret: (name) => (name === 'DAYTONA_API_KEY' ? key : undefined),
  });

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'sublet-daytona-'));
    const log = { debug() {}, info() {}, warn() {} };
    backing = await namespace.open({ stateDir, clock: systemClock, log, options: {}, secret: () => undefined });
    server = new DaytonaServer(backing, { apiKey: KEY, isOld, canPause: vm });
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

  const claims = {
    capabilities: new Set(
      module.capabilities.filter(
        (capability) => !(capability === 'pause' && !vm) && !(capability === 'pty' && transport !== 'sdk'),
      ),
    ),
  };

  describe('keeps the contract:', () => {
    for (const testCase of providerContract.filter((each) => missingCapabilities(each, claims).length === 0)) {
      it(testCase.name, ({ signal }) =>
        runProviderCase(testCase, { provider, signal, secondProvider: () => module.open(context()) }),
      );
    }
  });

  describe('when the service fails:', () => {
    const subject = (): CloudSubject => ({
      provider,
      faults: server.faults,
      matches: {
        create: ({ method, path }) => method === 'POST' && path === '/api/sandbox',
        find: ({ method, path }) => method === 'GET' && /^\/api\/sandbox\/[^/?]+$/.test(path),
        list: ({ method, path }) => method === 'GET' && path.startsWith('/api/sandbox?'),
        destroy: ({ method }) => method === 'DELETE',
        // The call that starts a command answers when all is over; what it writes comes with those that follow.
        exec: ({ path }) => path.endsWith('/process/execute') && server.executing > 0,
      },
      refusal: (status) => ({ status, body: { statusCode: status, message: `refused with ${status}` } }),
      gone: [
        { name: 'by name', operation: 'find', answer: refused(404, 'Sandbox with ID or name x not found') },
        { name: 'for good', operation: 'find', answer: refused(410, 'Sandbox x is gone') },
        { name: 'when deleted twice', operation: 'destroy', answer: refused(404, 'Sandbox x not found') },
      ],
      withWrongKey: () => module.open(context('wrong')),
      count: () => server.sandboxes.size,
      makeForeign: async () => {
        const { id } = await server.sandboxes.create({ name: `foreign-${Math.random()}`, labels: { team: 'other' } });
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
      it.runIf(testCase.applies?.({ stickDeleting: () => undefined } as unknown as CloudSubject) ?? true)(
        testCase.name,
        ({ signal }) => runCloudFaultCase(testCase, subject(), signal),
      );
    }
  });

  it('claims what its configuration allows, and never more than its module', () => {
    expect([...provider.capabilities].toSorted()).toEqual([...claims.capabilities].toSorted());
  });

  it('takes an answer without the network for unknown, and not for open', async ({ signal }) => {
    const name = `sublet-hidden-${transport}`;
    const spec = { name, labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
    try {
      expect((await provider.create(spec, signal)).network).toBe('none');
      server.hidesNetwork = true;
      expect((await provider.attach({ name }, signal))?.network).toBe('unknown');
    } finally {
      server.hidesNetwork = false;
      await provider.destroy({ name }, signal);
    }
  });

  it('tells Daytona what to do when nobody is left, and asks it to create once', async ({ signal }) => {
    const names = [`sublet-ttl-a-${transport}`, `sublet-ttl-b-${transport}`, `sublet-ttl-c-${transport}`] as const;
    const spec = { labels: {}, kind: 'execution', network: 'none' } as const;
    const before = server.created.length;
    server.faults.arm(({ method, path }) => method === 'POST' && path === '/api/sandbox', { kind: 'lost-answer' });
    await provider.create({ ...spec, name: names[0], ephemeral: true, deadManMs: 90_000 }, signal);
    await provider.create({ ...spec, name: names[1], ephemeral: false, deadManMs: 600_000 }, signal);
    const keeping = await module.open(context(KEY, { autoDeleteMinutes: 30, autoArchiveMinutes: 60 }));
    await keeping.create({ ...spec, name: names[2], ephemeral: false }, signal);
    const asked = server.created
      .slice(before)
      .map((body) => [body.autoStopInterval, body.autoDeleteInterval, body.autoArchiveInterval, body['env']]);
    expect(asked).toEqual([
      [2, 0, undefined, {}],
      [10, undefined, undefined, {}],
      [0, 30, 60, {}],
    ]);
    await expect(provider.stop?.({ name: names[0] }, signal)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    await Promise.all(names.map((name) => provider.destroy({ name }, signal)));
    await keeping.close();
  });

  it('leaves alone what has our name and not our mark', async ({ signal }) => {
    const name = `sublet-foreign-${transport}`;
    const { id } = await server.sandboxes.create({ name, labels: { team: 'other' } });
    expect(await provider.attach({ name }, signal)).toBeUndefined();
    await provider.destroy({ name }, signal);
    expect(server.sandboxes.get(id)?.state).toBe('running');
  });

  it('has nothing left at the service', async () => {
    expect(server.sandboxes.all().filter(({ labels }) => labels['team'] !== 'other')).toEqual([]);
  });
});

function refused(status: number, message: string): { status: number; body: unknown } {
  return { status, body: { statusCode: status, message } };
}
