/** The adapter through the real SDK, against a server on loopback with real sandboxes behind it. */
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { serveNamespaces } from '../../../test/setup/serve-namespaces.ts';
import { describeServiceAdapter } from '../../../test/setup/service-adapter.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import type { Answer, FaultRequest } from '../../testing/loopback/fault-switchboard.ts';
import { GRPC } from './grpc-server.fixture.ts';
import { provider as module } from './index.ts';
import { ModalServer } from './modal-server.fixture.ts';

const TOKEN = { tokenId: 'ak-test', tokenSecret: 'as-test' };
const APP = 'sublet';

/** What gRPC has for the statuses of HTTP. */
const CODES: Readonly<Record<number, number>> = {
  401: GRPC.UNAUTHENTICATED,
  404: GRPC.NOT_FOUND,
  409: GRPC.FAILED_PRECONDITION,
  429: GRPC.RESOURCE_EXHAUSTED,
  502: GRPC.UNAVAILABLE,
  503: GRPC.UNAVAILABLE,
};
const refused = (status: number, body: string): Answer => ({ status, body });
const calls =
  (...methods: readonly string[]) =>
  ({ path }: FaultRequest): boolean =>
    methods.some((method) => path.endsWith(`/${method}`));

const spec = (name: string, over: Partial<SandboxSpec> = {}): SandboxSpec => ({
  name: `sublet-${name}`,
  labels: { 'sublet.installation': name },
  kind: 'execution',
  network: 'none',
  ephemeral: false,
  ...over,
});

const SLOW_CONSUMER = 'a slow consumer holds the command back';
const HOUR_MS = 3_600_000;

describeServiceAdapter({
  title: 'the modal provider',
  module,
  start: () => serveNamespaces((backing) => new ModalServer(backing, TOKEN)),
  secrets: { MODAL_TOKEN_ID: TOKEN.tokenId, MODAL_TOKEN_SECRET: TOKEN.tokenSecret },
  options: ({ url }) => ({ serverUrl: url, app: APP, ports: ['8080'] }),
  // The SDK takes 64 MiB before it holds anybody back; below is the same with more than that.
  cases: ({ name }) => name !== SLOW_CONSUMER,
  sandboxes: (server) => server.sandboxes,
  facts: (server) => ({
    faults: server.faults,
    matches: {
      create: calls('SandboxCreateV2'),
      find: calls('SandboxGetFromNameV2'),
      list: calls('SandboxListV2'),
      destroy: calls('SandboxTerminateV2'),
      exec: calls('TaskExecStdioRead'),
    },
    refusal: (status) => refused(CODES[status] ?? GRPC.INTERNAL, `refused with ${status}`),
    gone: [
      { name: 'by name', operation: 'find', answer: refused(GRPC.NOT_FOUND, "Sandbox with name 'x' not found") },
      { name: 'when it has ended', operation: 'destroy', answer: refused(GRPC.NOT_FOUND, 'Sandbox sb-1 not found') },
      {
        name: 'when it has ended already',
        operation: 'destroy',
        answer: refused(GRPC.FAILED_PRECONDITION, 'Sandbox sb-1 has already finished'),
      },
      { name: 'where commands run', operation: 'exec', answer: refused(GRPC.NOT_FOUND, 'Task ta-1 not found') },
    ],
    makeForeign: async () => {
      const id = await server.makeForeign(APP);
      return async () => server.sandboxes.get(id)?.state === 'running';
    },
  }),
  more: (subject) => {
    it('keeps the contract, with more output than the SDK takes unread: a slow consumer holds the command back', async ({
      signal,
    }) => {
      const wanted = spec('slow');
      const { commands, files } = await subject.provider.create(wanted, signal);
      const bytes = 100 * 1024 * 1024;
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      const running = commands.run(`head -c ${bytes} /dev/zero && touch written-all`, { onStdout: () => held });
      await commands.run('sleep 2');
      expect(await files.exists('written-all')).toBe(false);
      release();
      expect(await running).toMatchObject({ exitCode: 0, stdoutBytes: bytes });
      await subject.provider.destroy(wanted, signal);
    });

    it('waits for what a program wrote when its exit code comes first', async ({ signal }) => {
      const wanted = spec('late');
      const { commands } = await subject.provider.create(wanted, signal);
      const { faults } = subject.server;
      const isRead = calls('TaskExecStdioRead');
      faults.arm(isRead, { kind: 'dropped', afterBytes: 20 });
      // The SDK asks again after 10 ms, and each time after twice as long.
      faults.arm(isRead, { kind: 'unreachable' }, 12);
      const { stdout, exitCode } = await commands.run('echo one; sleep 0.3; echo two; echo three');
      expect([stdout, exitCode]).toEqual(['one\ntwo\nthree\n', 0]);
      await subject.provider.destroy(wanted, signal);
    });

    it('gives no exit code when what a program wrote cannot be had, although its exit code can', async ({ signal }) => {
      const wanted = spec('torn');
      const { commands } = await subject.provider.create(wanted, signal);
      let programs = 0;
      const isFirst = (request: FaultRequest): boolean => {
        if (calls('TaskExecStart')(request)) programs++;
        // The second looks whether something holds the streams of the first; the third ends it.
        return programs < 3 && calls('TaskExecStdioRead')(request);
      };
      subject.server.faults.arm(isFirst, { kind: 'answer', answer: refused(GRPC.UNAVAILABLE, 'torn') }, 1000);
      await expect(commands.run('echo one')).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
      await subject.provider.destroy(wanted, signal);
    });

    it('gives no exit code for a command that nobody can be asked about any more, and the sandbox is not lost', async ({
      signal,
    }) => {
      const wanted = spec('unreachable');
      const { commands } = await subject.provider.create(wanted, signal);
      let programs = 0;
      const isFirst = (request: FaultRequest): boolean => {
        if (calls('TaskExecStart')(request)) programs++;
        return programs < 2 && calls('TaskExecStdioRead', 'TaskExecWait')(request);
      };
      const armed = subject.server.faults.arm(isFirst, { kind: 'unreachable' }, Number.MAX_SAFE_INTEGER);
      await expect(commands.run('echo hi')).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
      armed.release();
      expect((await commands.run('echo hi')).stdout).toBe('hi\n');
      await subject.provider.destroy(wanted, signal);
    });

    it('says when Modal ends a sandbox, and does not claim to move that on', async ({ signal }) => {
      const { provider } = subject;
      const before = Date.now();
      const session = await provider.create(spec('life'), signal);
      expect(session.deadManAt).toBeGreaterThan(before + 24 * HOUR_MS - 2_000);
      expect(provider.capabilities.has('extend')).toBe(false);
      const run = await provider.create(spec('run', { ephemeral: true, deadManMs: 15 * 60_000 }), signal);
      expect(run.deadManAt).toBeLessThan(Date.now() + 15 * 60_000 + 2_000);
      await subject.server.expire(session.ref.name);
      expect(await provider.attach(session.ref, signal)).toBeUndefined();
      await expect(session.commands.run('true')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
      await provider.destroy(run.ref, signal);
    });

    it('opens the ports that it was told of, and says how to open others', async ({ signal }) => {
      const { provider } = subject;
      const { ref } = await provider.create(spec('ports', { network: 'open' }), signal);
      expect(await provider.portUrl?.(ref, 8080, signal)).toMatch(/^https:\/\/.*\.modal\.host$/);
      await expect(provider.portUrl?.(ref, 9090, signal)).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        hint: expect.stringContaining('modal.ports') as string,
      });
      await provider.destroy(ref, signal);
    });

    it('says that an image could not be built, and makes nothing', async ({ signal }) => {
      const before = subject.server.sandboxes.size;
      const wanted = spec('image', { image: 'registry.example/missing' });
      await expect(subject.provider.create(wanted, signal)).rejects.toMatchObject({ code: 'CREATE_FAILED' });
      expect(subject.server.sandboxes.size).toBe(before);
    });

    it('takes an image of the workspace by its id', async ({ signal }) => {
      const { provider, server } = subject;
      const image = server.images.build(['FROM mine']);
      const { ref, commands } = await provider.create(spec('by-id', { image }), signal);
      expect((await commands.run('echo $((6 * 7))')).stdout).toBe('42\n');
      await provider.destroy(ref, signal);
    });

    it('has no secret in an error, however deep one looks', async ({ signal }) => {
      const secret = 'as-nobody-may-see-this';
      const stranger = await module.open(subject.context({}, { MODAL_TOKEN_ID: 'ak-x', MODAL_TOKEN_SECRET: secret }));
      const refusal: unknown = await stranger
        .create(spec('secret', { env: { KEY: secret } }), signal)
        .catch((e: unknown) => e);
      expect(refusal).toMatchObject({ code: 'AUTH_FAILED' });
      const wanted = spec('secret-env', { env: { KEY: secret } });
      const { commands } = await subject.provider.create(wanted, signal);
      subject.server.faults.arm(calls('TaskExecStart'), {
        kind: 'answer',
        answer: refused(GRPC.INVALID_ARGUMENT, 'no'),
      });
      const failure: unknown = await commands.run('true').catch((e: unknown) => e);
      expect(failure).toBeInstanceOf(Error);
      for (const error of [refusal, failure])
        expect(inspect(error, { depth: null, showHidden: true })).not.toContain(secret);
      await subject.provider.destroy(wanted, signal);
      await stranger.close();
    });

    it('leaves the address in the environment as it was', () => {
      expect(process.env['MODAL_SERVER_URL']).toBeUndefined();
    });
  },
});
