/** The adapter through the real SDK, against a server on loopback with real sandboxes behind it. */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { serveNamespaces } from '../../../test/setup/serve-namespaces.ts';
import { type AdapterSubject, describeServiceAdapter } from '../../../test/setup/service-adapter.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { provider as module } from './index.ts';
import { langsmithFacts } from './langsmith-facts.fixture.ts';
import { LangsmithServer } from './langsmith-server.fixture.ts';

const KEY = 'lsv2_pt_test_key';
const start = () => serveNamespaces((backing) => new LangsmithServer(backing, KEY));
const secrets = { LANGSMITH_API_KEY: KEY };
const SPEC = { labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;
const isExec = ({ path }: { readonly path: string }): boolean => path.endsWith('/execute/ws');

describeServiceAdapter({
  title: 'the langsmith provider',
  module,
  start,
  secrets,
  options: ({ url }) => ({ endpoint: url, cwd: '/workspace' }),
  without: ['pause'],
  sandboxes: (server) => server.sandboxes,
  facts: (server) => langsmithFacts(server, '/execute/ws'),
  more: (subject) => {
    describeConnections(subject);
    describeIdentity(subject);
    describeRest(subject);
  },
});

describeServiceAdapter({
  title: 'the langsmith provider that keeps memory',
  module,
  start,
  secrets,
  options: ({ url }) => ({ endpoint: url, cwd: '/workspace', keepMemory: true }),
  without: ['stop'],
  cases: ({ needs = [] }) => needs.includes('pause'),
  sandboxes: (server) => server.sandboxes,
});

function describeConnections(subject: AdapterSubject<LangsmithServer>): void {
  describe('when a connection breaks', () => {
    afterEach(() => {
      subject.server.dataplane.cuts.length = 0;
    });

    it('goes on by offset: nothing is lost, nothing comes twice, nothing runs twice', async ({ signal }) => {
      const { provider, server } = subject;
      const { dataplane } = server;
      const sandbox = await provider.create({ ...SPEC, name: 'sublet-cuts' }, signal);
      const chunks: Uint8Array[] = [];
      const before = dataplane.reconnects;
      // A daemon that reloads, a dead line, and both again after a few bytes more.
      const cuts = [{ afterBytes: 700, code: 1001 }, { afterBytes: 40_000 }, { afterBytes: 9, code: 1001 }];
      dataplane.cuts.push(...cuts, { afterBytes: 100_000, code: 1001 });
      const { exitCode } = await sandbox.commands.run('echo x >>runs; head -c 1500000 /dev/urandom | tee bytes', {
        onStdout: (chunk) => void chunks.push(Uint8Array.from(chunk)),
      });
      expect(exitCode).toBe(0);
      expect(dataplane.cuts).toEqual([]);
      expect(dataplane.reconnects - before).toBeGreaterThanOrEqual(3);
      const sum = createHash('sha256').update(Buffer.concat(chunks)).digest('hex');
      const { stdout } = await sandbox.commands.run('sha256sum <bytes; cat runs');
      expect(stdout).toBe(`${sum}  -\nx\n`);
      await provider.destroy(sandbox.ref, signal);
    });

    it('asks again for a command that is not known to have begun, which begins once', async ({ signal }) => {
      const { provider, server } = subject;
      const sandbox = await provider.create({ ...SPEC, name: 'sublet-once' }, signal);
      for (const code of [1001, undefined]) {
        server.dataplane.cuts.push({ afterBytes: 0, code });
        expect((await sandbox.commands.run('echo x >>runs')).exitCode).toBe(0);
        expect(server.dataplane.cuts).toEqual([]);
      }
      expect((await sandbox.commands.run('cat runs')).stdout).toBe('x\nx\n');
      await provider.destroy(sandbox.ref, signal);
    });

    it('takes a way that is not found for no loss, and a key that is refused for what it is', async ({ signal }) => {
      const { provider, server } = subject;
      const sandbox = await provider.create({ ...SPEC, name: 'sublet-way' }, signal);
      for (const [status, code] of [
        [404, 'PROVIDER_UNAVAILABLE'],
        [401, 'AUTH_FAILED'],
        [403, 'PERMISSION_DENIED'],
      ] as const) {
        const armed = server.faults.arm(isExec, { kind: 'answer', answer: { status } }, 10);
        await expect(sandbox.commands.run('true')).rejects.toMatchObject({ code });
        armed.release();
      }
      expect((await sandbox.commands.run('echo here')).stdout).toBe('here\n');
      await provider.destroy(sandbox.ref, signal);
    });
  });
}

function describeIdentity(subject: AdapterSubject<LangsmithServer>): void {
  it('tells LangSmith what to do when nobody is left, and asks it to create once', async ({ signal }) => {
    const { provider, server } = subject;
    const before = server.created.length;
    const made: SandboxSpec[] = [
      { ...SPEC, name: 'sublet-ttl-a', ephemeral: true, deadManMs: 90_000 },
      { ...SPEC, name: 'sublet-ttl-b', deadManMs: 600_000, env: { TOKEN: 'secret' } },
    ];
    server.faults.arm(({ method, path }) => method === 'POST' && path.endsWith('/boxes'), { kind: 'lost-answer' });
    for (const spec of made) await provider.create(spec, signal);
    const keeping = await module.open(subject.context({ deleteAfterStopMinutes: 30, vcpus: 0.5, memoryGiB: 2 }));
    await keeping.create({ ...SPEC, name: 'sublet-ttl-c' }, signal);
    const asked = server.created.slice(before);
    expect(asked.map((body) => [body.idle_ttl_seconds, body.delete_after_stop_seconds, body.env_vars])).toEqual([
      [120, 60, undefined],
      [600, undefined, undefined],
      [3600, 1800, undefined],
    ]);
    expect([asked[2]?.cpu_millicores, asked[2]?.mem_bytes]).toEqual([500, 2 * 1024 ** 3]);
    await expect(provider.stop?.({ name: 'sublet-ttl-a' }, signal)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    for (const name of ['sublet-ttl-a', 'sublet-ttl-b', 'sublet-ttl-c']) await provider.destroy({ name }, signal);
    await keeping.close();
  });

  it('speaks to the workspace it was told, inside and out, and to no other', async ({ signal }) => {
    const { server } = subject;
    vi.stubEnv('LANGSMITH_TENANT_ID', 'of-the-environment');
    vi.stubEnv('LANGSMITH_WORKSPACE_ID', 'of-the-environment');
    for (const workspace of [undefined, 'w1']) {
      const opened = await module.open(subject.context({ workspace }));
      server.workspaces.clear();
      const { ref, commands } = await opened.create({ ...SPEC, name: `sublet-in-${workspace ?? 'any'}` }, signal);
      await commands.run('true');
      await opened.destroy(ref, signal);
      expect([...server.workspaces]).toEqual([workspace]);
      await opened.close();
    }
    vi.unstubAllEnvs();
  });

  it('leaves alone what has our name and not our mark, and what inherited our labels', async ({ signal }) => {
    const { provider, server } = subject;
    const labels = { 'sublet.installation': 'ours', team: 'other' };
    const foreign = await server.sandboxes.create({ name: 'sublet-foreign', labels });
    // Made by somebody from a snapshot of ours: labels are inherited, names are not.
    const copy = await server.sandboxes.create({ name: 'a-copy', labels: { ...labels, 'sublet.name': 'sublet-gone' } });
    const seen: string[] = [];
    for await (const { ref } of provider.list({ 'sublet.installation': 'ours' }, signal)) seen.push(ref.name);
    expect(seen).toEqual([]);
    for (const name of ['sublet-foreign', 'a-copy']) {
      expect(await provider.attach({ name }, signal)).toBeUndefined();
      await provider.destroy({ name }, signal);
    }
    await expect(provider.create({ ...SPEC, name: 'sublet-foreign' }, signal)).rejects.toMatchObject({
      code: 'STATE_CONFLICT',
    });
    expect([foreign, copy].map(({ id }) => server.sandboxes.get(id)?.state)).toEqual(['running', 'running']);
  });

  it('takes an answer without the network for unknown, and not for open', async ({ signal }) => {
    const { provider, server } = subject;
    const { ref, network } = await provider.create({ ...SPEC, name: 'sublet-hidden' }, signal);
    expect(network).toBe('none');
    const box = server.sandboxes.all().find(({ name }) => name === ref.name);
    const facts = (proxy: unknown): void => {
      server.sandboxes.update(box?.id ?? '', { facts: { proxy_config: proxy } });
    };
    facts(undefined);
    expect((await provider.attach(ref, signal))?.network).toBe('unknown');
    facts({ access_control: { allow_list: ['example.com'] } });
    expect((await provider.attach(ref, signal))?.network).toBe('unknown');
    facts({ rules: [] });
    expect((await provider.attach(ref, signal))?.network).toBe('open');
    await provider.destroy(ref, signal);
  });
}

function describeRest(subject: AdapterSubject<LangsmithServer>): void {
  it('says nothing to a sandbox that rests: that would wake it', async ({ signal }) => {
    const { provider, server } = subject;
    const { ref, commands } = await provider.create({ ...SPEC, name: 'sublet-rests' }, signal);
    const state = (): string | undefined => server.sandboxes.all().find(({ name }) => name === ref.name)?.state;
    await provider.stop?.(ref, signal);
    await expect(commands.run('true')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    await expect(provider.extend?.(ref, 600_000, signal)).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    const resting = await provider.attach(ref, signal);
    await expect(resting?.commands.run('true')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    expect(state()).toBe('stopped');
    await provider.start?.(ref, signal);
    expect((await commands.run('echo awake')).stdout).toBe('awake\n');
    await provider.destroy(ref, signal);
  });

  it('does not take up a command again in a sandbox that somebody else has stopped', async ({ signal }) => {
    const { provider, server } = subject;
    const { ref } = await provider.create({ ...SPEC, name: 'sublet-stopped' }, signal);
    const other = await module.open(subject.context());
    const attached = await other.attach(ref, signal);
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const begunBefore = server.dataplane.begun;
    const running = attached?.commands.run('echo go; sleep 1000', { onStdout: () => begun() });
    running?.catch(() => undefined);
    await hasBegun;
    // The command, its streams, and what comes after the first output. Whoever came later would wake what is being stopped.
    await vi.waitFor(() => expect(server.dataplane.begun - begunBefore).toBe(4));
    await provider.stop?.(ref, signal);
    await expect(running).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    expect(server.sandboxes.all().find(({ name }) => name === ref.name)?.state).toBe('stopped');
    await other.close();
    await provider.destroy(ref, signal);
  });
}
