/** Through the real SDK, over loopback, against a server with real sandboxes. */
import { Sandbox } from 'e2b';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { systemClock } from '../../core/system-clock.ts';
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { SandboxProvider, SandboxSpec } from '../../provider/provider.ts';
import { type E2bService, startE2bService } from '../../server/e2b/e2b-service.fixture.ts';
import { type CloudSubject, cloudFaults, runCloudFaultCase } from '../../testing/cloud-faults.ts';
import { missingCapabilities, providerContract, runProviderCase } from '../../testing/provider-contract.ts';
import { provider as module } from './index.ts';

const isThere = await requirement('namespace');
let service: E2bService;

beforeAll(async () => {
  if (isThere) service = await startE2bService();
});
afterAll(() => service?.close());

function context(options: Record<string, unknown> = {}, key: string | undefined = service.apiKey): ProviderContext {
  return {
    stateDir: '/nonexistent',
    clock: systemClock,
    log: { debug() {}, info() {}, warn() {} },
    options: { apiUrl: service.url, sandboxUrl: service.url, cwd: '/workspace', ...options },
    secret: (name) => (name === 'E2B_API_KEY' ? key : undefined),
  };
}

const KINDS = [
  { kind: 'that keep their memory in a pause', options: {}, without: 'stop' },
  { kind: 'that keep their disk in a pause', options: { keepMemory: false }, without: 'pause' },
] as const;

describe.runIf(isThere).each(KINDS)('sandboxes of E2B $kind', ({ options, without }) => {
  let provider: SandboxProvider;
  beforeAll(async () => (provider = await module.open(context(options))));
  afterAll(() => provider.close());

  const claims = { capabilities: new Set(module.capabilities.filter((each) => each !== without)) };
  const isAbout = (needs: readonly string[] | undefined): boolean =>
    without === 'stop' || needs?.includes('stop') === true;
  const cases = providerContract.filter(
    (each) => missingCapabilities(each, claims).length === 0 && isAbout(each.needs),
  );
  for (const testCase of cases) {
    it(testCase.name, ({ signal }) =>
      runProviderCase(testCase, { provider, signal, secondProvider: () => module.open(context(options)) }),
    );
  }

  it('can do what they claim', () => {
    expect(new Set(provider.capabilities)).toEqual(claims.capabilities);
  });
});

describe.runIf(isThere)('faults of the service', () => {
  let subject: CloudSubject;
  let provider: SandboxProvider;
  beforeAll(async () => {
    provider = await module.open(context());
    subject = subjectOf(provider);
  });
  afterEach(() => service.faults.clear());

  // A kill of E2B's is over when it is answered: no deletion is ever stuck.
  for (const testCase of cloudFaults.filter(({ applies }) => applies === undefined)) {
    it(testCase.name, ({ signal }) => runCloudFaultCase(testCase, subject, signal));
  }
});

const ONE = /^\/sandboxes\/[^/]+$/;

function subjectOf(provider: SandboxProvider): CloudSubject {
  return {
    provider,
    faults: service.faults,
    matches: {
      create: ({ method, path }) => method === 'POST' && /^(\/v2)?\/sandboxes$/.test(path),
      find: ({ method, path }) => method === 'GET' && ONE.test(path),
      list: ({ method, path }) => method === 'GET' && path.startsWith('/v2/sandboxes?'),
      destroy: ({ method, path }) => method === 'DELETE' && ONE.test(path),
      exec: ({ path }) => path === '/process.Process/Start',
    },
    refusal: (status) => ({ status, body: { code: status, message: `refused with ${status}` } }),
    gone: [
      { name: 'in JSON', operation: 'find', answer: { status: 404, body: { code: 404, message: "doesn't exist" } } },
      { name: 'in plain words', operation: 'find', answer: { status: 404, body: 'page not found' } },
      {
        name: 'while killing',
        operation: 'destroy',
        answer: { status: 404, body: { code: 404, message: 'not found' } },
      },
    ],
    withWrongKey: () => module.open(context({}, 'e2b_00')),
    count: () => service.server.sandboxes.all().length,
    makeForeign: async () => {
      const connection = { apiKey: service.apiKey, apiUrl: service.url, sandboxUrl: service.url };
      const foreign = await Sandbox.create({ ...connection, metadata: { somebody: 'else' } });
      return async () => {
        const isRunning = await foreign.isRunning();
        await foreign.kill();
        return isRunning;
      };
    },
    setPageSize: (size) => service.setPageSize(size),
  };
}

describe.runIf(isThere)('a sandbox of E2B', () => {
  const signal = new AbortController().signal;
  let provider: SandboxProvider;
  let count = 0;
  const spec = (over: Partial<SandboxSpec> = {}): SandboxSpec => ({
    name: `sublet-test${++count}`,
    labels: { 'sublet.installation': 'ins_test' },
    kind: 'execution',
    network: 'none',
    ephemeral: false,
    ...over,
  });
  beforeAll(async () => (provider = await module.open(context())));

  it('that is killed elsewhere is lost to its commands', async () => {
    const sandbox = await provider.create(spec(), signal);
    await service.server.sandboxes.kill(sandbox.ref.providerId ?? '');
    await expect(sandbox.commands.run('true')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
  });

  it('that is paused is not woken by attaching or by a command', async () => {
    const wanted = spec();
    const sandbox = await provider.create(wanted, signal);
    await provider.pause?.(sandbox.ref, signal);
    const found = await provider.attach(sandbox.ref, signal);
    expect(found?.state).toBe('paused');
    await expect(found?.commands.run('true')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    expect((await provider.attach({ name: wanted.name }, signal))?.state).toBe('paused');
    await provider.destroy({ name: wanted.name }, signal);
  });

  it('is made and resumed at a server without the newer paths', async () => {
    const isNewer = ({ method, path }: { method: string; path: string }): boolean =>
      method === 'POST' && path.startsWith('/v2/');
    service.faults.arm(
      isNewer,
      { kind: 'answer', answer: { status: 404, body: 'no matching operation was found' } },
      1e9,
    );
    const older = await module.open(context());
    const sandbox = await older.create(spec(), signal);
    await older.pause?.(sandbox.ref, signal);
    await older.resume?.(sandbox.ref, signal);
    expect((await sandbox.commands.run('echo awake')).stdout).toBe('awake\n');
    await older.destroy(sandbox.ref, signal);
    service.faults.clear();
  });

  it('of an unknown template is refused by its name', async () => {
    const error = await provider.create(spec({ image: 'nothing' }), signal).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'CREATE_FAILED', message: 'E2B has no template "nothing" for this key.' });
  });

  it('that was to have a desktop and cannot is undone', async () => {
    const before = service.server.sandboxes.all().length;
    const creating = provider.create(spec({ kind: 'desktop' }), signal);
    await expect(creating).rejects.toMatchObject({ code: 'CREATE_FAILED', hint: expect.stringContaining('"desktop"') });
    expect(service.server.sandboxes.all()).toHaveLength(before);
  });

  it('is asked to live no longer than the account allows', async () => {
    const strict = await module.open(context({ maxTimeout: 60 }));
    const sandbox = await strict.create(spec({ deadManMs: 3600_000 }), signal);
    const found = await strict.attach(sandbox.ref, signal);
    expect(found?.deadManAt).toBeLessThan(Date.now() + 61_000);
    expect(await strict.extend?.(sandbox.ref, 3600_000, signal)).toBeLessThan(Date.now() + 61_000);
    await strict.destroy(sandbox.ref, signal);
  });

  it('has its key in no error, and a provider without one says how to set it', async () => {
    const stranger = await module.open(context({}, 'e2b_5ec2e7'));
    const error = await stranger.create(spec(), signal).catch((cause: unknown) => cause);
    expect(JSON.stringify([error, String(error), (error as Error).cause])).not.toContain('5ec2e7');
    await expect(module.open({ ...context(), secret: () => undefined })).rejects.toMatchObject({ code: 'AUTH_FAILED' });
    const probe = await module.probe({ ...context(), secret: () => undefined });
    expect(probe.usable).toBe(false);
    expect(probe.findings).toContainEqual(expect.objectContaining({ fix: 'sublet config set E2B_API_KEY' }));
  });
});
