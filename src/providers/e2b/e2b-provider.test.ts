/** Through the real SDK, over loopback, against a server with real sandboxes. */
import { Sandbox } from 'e2b';
import { describe, expect, it } from 'vitest';
import { type AdapterSubject, describeServiceAdapter } from '../../../test/setup/service-adapter.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { API_KEY, type E2bService, startE2bService } from '../../server/e2b/e2b-service.fixture.ts';
import { provider as module } from './index.ts';

const start = async (): Promise<{ server: E2bService; close: () => Promise<void> }> => {
  const service = await startE2bService();
  return { server: service, close: () => service.close() };
};
const ONE = /^\/sandboxes\/[^/]+$/;

describeServiceAdapter({
  title: 'sandboxes of E2B that keep their disk in a pause',
  module,
  start,
  secrets: { E2B_API_KEY: API_KEY },
  options: ({ url }) => ({ apiUrl: url, sandboxUrl: url, cwd: '/workspace', keepMemory: false }),
  without: ['pause'],
  // The others are those of sandboxes that keep their memory.
  cases: ({ needs = [] }) => needs.includes('stop'),
});

describeServiceAdapter({
  title: 'sandboxes of E2B',
  module,
  start,
  secrets: { E2B_API_KEY: API_KEY },
  options: ({ url }) => ({ apiUrl: url, sandboxUrl: url, cwd: '/workspace' }),
  without: ['stop'],
  wrongKey: 'e2b_00',
  removesAtOnce: true,
  facts: (service) => ({
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
    count: () => service.server.sandboxes.all().length,
    makeForeign: async () => {
      const connection = { apiKey: API_KEY, apiUrl: service.url, sandboxUrl: service.url };
      const foreign = await Sandbox.create({ ...connection, metadata: { somebody: 'else' } });
      return async () => {
        const isRunning = await foreign.isRunning();
        await foreign.kill();
        return isRunning;
      };
    },
    setPageSize: (size) => service.setPageSize(size),
  }),
  more: (subject) => describe('one of them,', () => tellMore(subject)),
});

function tellMore(subject: AdapterSubject<E2bService>): void {
  const { context } = subject;
  let count = 0;
  const spec = (over: Partial<SandboxSpec> = {}): SandboxSpec => ({
    name: `sublet-test${++count}`,
    labels: { 'sublet.installation': 'ins_test' },
    kind: 'execution',
    network: 'none',
    ephemeral: false,
    ...over,
  });

  it('that is killed elsewhere is lost to its commands', async ({ signal }) => {
    const sandbox = await subject.provider.create(spec(), signal);
    await subject.server.server.sandboxes.kill(sandbox.ref.providerId ?? '');
    await expect(sandbox.commands.run('true')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
  });

  it('that is paused is not woken by attaching or by a command', async ({ signal }) => {
    const wanted = spec();
    const sandbox = await subject.provider.create(wanted, signal);
    await subject.provider.pause?.(sandbox.ref, signal);
    const found = await subject.provider.attach(sandbox.ref, signal);
    expect(found?.state).toBe('paused');
    await expect(found?.commands.run('true')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    expect((await subject.provider.attach({ name: wanted.name }, signal))?.state).toBe('paused');
    await subject.provider.destroy({ name: wanted.name }, signal);
  });

  it('is made and resumed at a server without the newer paths', async ({ signal }) => {
    const isNewer = ({ method, path }: { method: string; path: string }): boolean =>
      method === 'POST' && path.startsWith('/v2/');
    subject.server.faults.arm(
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
    subject.server.faults.clear();
  });

  it('of an unknown template is refused by its name', async ({ signal }) => {
    const error = await subject.provider.create(spec({ image: 'nothing' }), signal).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'CREATE_FAILED', message: 'E2B has no template "nothing" for this key.' });
  });

  it('that was to have a desktop and cannot is undone', async ({ signal }) => {
    const before = subject.server.server.sandboxes.all().length;
    const creating = subject.provider.create(spec({ kind: 'desktop' }), signal);
    await expect(creating).rejects.toMatchObject({ code: 'CREATE_FAILED', hint: expect.stringContaining('"desktop"') });
    expect(subject.server.server.sandboxes.all()).toHaveLength(before);
  });

  it('is asked to live no longer than the account allows', async ({ signal }) => {
    const strict = await module.open(context({ maxTimeout: 60 }));
    const sandbox = await strict.create(spec({ deadManMs: 3600_000 }), signal);
    const found = await strict.attach(sandbox.ref, signal);
    expect(found?.deadManAt).toBeLessThan(Date.now() + 61_000);
    expect(await strict.extend?.(sandbox.ref, 3600_000, signal)).toBeLessThan(Date.now() + 61_000);
    await strict.destroy(sandbox.ref, signal);
  });

  it('has its key in no error, and a provider without one says how to set it', async ({ signal }) => {
    const stranger = await module.open(context({}, { E2B_API_KEY: 'e2b_5ec2e7' }));
    const error = await stranger.create(spec(), signal).catch((cause: unknown) => cause);
    expect(JSON.stringify([error, String(error), (error as Error).cause])).not.toContain('5ec2e7');
    await expect(module.open(context({}, {}))).rejects.toMatchObject({ code: 'AUTH_FAILED' });
    const probe = await module.probe(context({}, {}));
    expect(probe.usable).toBe(false);
    expect(probe.findings).toContainEqual(
      expect.objectContaining({ fix: expect.stringContaining('sublet config set E2B_API_KEY') as unknown }),
    );
  });
}
