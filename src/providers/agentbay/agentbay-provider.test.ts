/** The adapter over its wire protocol, against a server on loopback with real sandboxes behind it. */
import { expect, it } from 'vitest';
import { serveNamespaces } from '../../../test/setup/serve-namespaces.ts';
import { describeServiceAdapter } from '../../../test/setup/service-adapter.ts';
import { AgentBayServer, NO_NETWORK } from './agentbay-server.fixture.ts';
import { provider as module } from './index.ts';

const KEY = 'akm-test-key';
const CODES: Readonly<Record<number, string>> = {
  401: 'NOT_LOGIN',
  409: 'Conflict',
  429: 'Throttling.User',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

const asks =
  (...actions: readonly string[]) =>
  ({ path }: { readonly path: string }): boolean =>
    actions.some((action) => path.includes(`Action=${action}&`));
const refused = (status: number, code: string, message: string): { status: number; body: unknown } => ({
  status,
  body: { RequestId: 'r', HostId: 'h', Code: code, Message: message },
});
const told = (body: Record<string, unknown>): { status: number; body: unknown } => ({ status: 200, body });
const NO_SESSION = 'Resource [McpSession] is not found.';
const SPEC = { labels: {}, kind: 'execution', network: 'none', ephemeral: false } as const;

describeServiceAdapter({
  title: 'the agentbay provider',
  module,
  start: () => serveNamespaces((backing) => new AgentBayServer(backing, KEY)),
  secrets: { AGENTBAY_API_KEY: KEY },
  options: ({ url }) => ({ endpoint: url, cwd: '/workspace', noNetworkPolicy: NO_NETWORK }),
  sandboxes: (server) => server.sandboxes,
  facts: (server) => ({
    faults: server.faults,
    matches: {
      create: asks('CreateMcpSession'),
      find: asks('GetSessionDetail', 'GetLabel'),
      list: asks('ListSession'),
      destroy: asks('DeleteSessionAsync'),
      // The call that starts a command answers when all is over; what it writes comes with those that follow.
      exec: (request) => asks('CallMcpTool')(request) && server.tools.executing > 0,
    },
    refusal: (status) => refused(status, CODES[status] ?? 'Refused', `refused with ${status}`),
    gone: [
      { name: 'by code', operation: 'find', answer: refused(400, 'InvalidMcpSession.NotFound', NO_SESSION) },
      { name: 'by message', operation: 'find', answer: refused(400, 'InvalidParameter', NO_SESSION) },
      {
        name: 'in an answer that is well',
        operation: 'find',
        answer: told({ Success: false, Code: 'InvalidMcpSession.NotFound', Message: '', HttpStatusCode: 400 }),
      },
      {
        name: 'as finished',
        operation: 'find',
        answer: told({ Success: true, Data: { Status: 'FINISH', Labels: '{"sublet.name":"x"}' } }),
      },
      {
        name: 'when deleted twice',
        operation: 'destroy',
        answer: refused(400, 'InvalidMcpSession.NotFound', NO_SESSION),
      },
    ],
  }),
  more: (subject) => {
    it('takes an endpoint that knows no such thing for a failure, and not for the loss of the sandbox', async ({
      signal,
    }) => {
      const { provider, server } = subject;
      const { ref } = await provider.create({ ...SPEC, name: 'sublet-elsewhere' }, signal);
      const answer = refused(404, 'InvalidAction.NotFound', 'Specified api is not found.');
      const armed = server.faults.arm(asks('GetSessionDetail'), { kind: 'answer', answer }, 2);
      await expect(provider.attach(ref, signal)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
      armed.release();
      const page = { status: 200, body: '<html>a proxy</html>' };
      server.faults.arm(asks('GetSessionDetail'), { kind: 'answer', answer: page }, 2);
      await expect(provider.attach(ref, signal)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
      await provider.destroy(ref, signal);
    });

    it('runs commands in images that answer with the output alone', async ({ signal }) => {
      const { provider, server } = subject;
      server.tools.isRaw = true;
      try {
        const { commands, ref } = await provider.create({ ...SPEC, name: 'sublet-raw' }, signal);
        const result = await commands.run('echo "{\\"stdout\\": 1}"; echo bad >&2; exit 3', { env: { A: 'b' } });
        expect(result).toMatchObject({ exitCode: 3, stdout: '{"stdout": 1}\n', stderr: 'bad\n' });
        await provider.destroy(ref, signal);
      } finally {
        server.tools.isRaw = false;
      }
    });

    it('runs a command for longer than the service lets a call take', async ({ signal }) => {
      const { server, context } = subject;
      const plain = context();
      // Twenty times as fast, so that what happens after forty seconds happens after two.
      const clock: typeof plain.clock = {
        ...plain.clock,
        schedule: (ms, act) => plain.clock.schedule(ms > 10_000 ? ms / 20 : ms, act),
      };
      const provider = await module.open({ ...plain, clock });
      server.tools.maxExecMs = 4_000;
      try {
        const { commands, ref } = await provider.create({ ...SPEC, name: 'sublet-long' }, signal);
        const result = await commands.run('echo begun; sleep 6; echo over; exit 5');
        expect(result).toMatchObject({ exitCode: 5, stdout: 'begun\nover\n' });
        await provider.destroy(ref, signal);
      } finally {
        server.tools.maxExecMs = 50_000;
        await provider.close();
      }
    });

    it('remembers of a session that its benefit level has no pause, and does not ask again', async ({ signal }) => {
      const { provider, server } = subject;
      const { ref } = await provider.create({ ...SPEC, name: 'sublet-poor' }, signal);
      server.hasBenefits = false;
      try {
        const refusal = { code: 'UNSUPPORTED', hint: expect.stringContaining('noPause') as unknown };
        await expect(provider.pause?.(ref, signal)).rejects.toMatchObject(refusal);
        const before = server.asked.filter((action) => action === 'PauseSessionAsync').length;
        await expect(provider.pause?.(ref, signal)).rejects.toMatchObject(refusal);
        expect(server.asked.filter((action) => action === 'PauseSessionAsync').length).toBe(before);
        await expect(provider.portUrl?.(ref, 30_150, signal)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
      } finally {
        server.hasBenefits = true;
      }
      expect((await provider.attach(ref, signal))?.state).toBe('running');
      expect(await provider.portUrl?.(ref, 30_150, signal)).toMatch(/^https:/);
      await provider.destroy(ref, signal);
      const without = await module.open(subject.context({ noPause: true }));
      expect(without.capabilities.has('pause')).toBe(false);
    });

    it('tells AgentBay where, of what and for how long, and nothing that is secret', async ({ signal }) => {
      const { provider, server } = subject;
      const name = 'sublet-asked';
      await provider.create(
        { ...SPEC, name, image: 'code_latest', deadManMs: 90_500, env: { SECRET: 'hush' } },
        signal,
      );
      expect(server.created.at(-1)).toMatchObject({
        ImageId: 'code_latest',
        LoginRegionId: 'ap-southeast-1',
        McpPolicyId: NO_NETWORK,
        Timeout: '91',
      });
      expect(JSON.stringify(server.created.at(-1))).not.toContain('hush');
      await provider.destroy({ name }, signal);
      await expect(provider.create({ ...SPEC, name, image: 'missing' }, signal)).rejects.toMatchObject({
        code: 'CREATE_FAILED',
      });
    });

    it('says of a working directory that cannot be written which option names another', async ({ signal }) => {
      const provider = await module.open(subject.context({ cwd: '/proc' }));
      const outcome = provider.create({ ...SPEC, name: 'sublet-readonly' }, signal);
      await expect(outcome).rejects.toMatchObject({
        code: 'CREATE_FAILED',
        hint: expect.stringContaining('agentbay.cwd'),
      });
      await provider.close();
    });
  },
});
