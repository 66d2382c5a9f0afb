/** The adapter through the real SDK, and over plain HTTP, against a server on loopback with real sandboxes behind it. */
import { expect, it } from 'vitest';
import { describeServiceAdapter } from '../../../test/setup/service-adapter.ts';
import { API_KEY, startDaytonaService } from './daytona-service.fixture.ts';
import { provider as module } from './index.ts';

const TRANSPORTS = [
  { transport: 'sdk', isOld: false, vm: true, without: [] },
  { transport: 'toolbox', isOld: true, vm: false, without: ['pause', 'pty'] },
] as const;

const refused = (status: number, message: string): { status: number; body: unknown } => ({
  status,
  body: { statusCode: status, message },
});

for (const { transport, isOld, vm, without } of TRANSPORTS) {
  describeServiceAdapter({
    title: `the daytona provider over ${transport}`,
    module,
    start: () => startDaytonaService({ isOld, canPause: vm }),
    secrets: { DAYTONA_API_KEY: API_KEY },
    options: ({ url }) => ({ apiUrl: `${url}/api`, target: 'eu', transport, vm, cwd: '/workspace' }),
    without,
    sandboxes: (server) => server.sandboxes,
    facts: (server) => ({
      faults: server.faults,
      matches: {
        create: ({ method, path }) => method === 'POST' && path === '/api/sandbox',
        find: ({ method, path }) => method === 'GET' && /^\/api\/sandbox\/[^/?]+$/.test(path),
        list: ({ method, path }) => method === 'GET' && path.startsWith('/api/sandbox?'),
        destroy: ({ method }) => method === 'DELETE',
        // The call that starts a command answers when all is over; what it writes comes with those that follow.
        exec: ({ path }) => path.endsWith('/process/execute') && server.executing > 0,
      },
      refusal: (status) => refused(status, `refused with ${status}`),
      gone: [
        { name: 'by name', operation: 'find', answer: refused(404, 'Sandbox with ID or name x not found') },
        { name: 'for good', operation: 'find', answer: refused(410, 'Sandbox x is gone') },
        { name: 'when deleted twice', operation: 'destroy', answer: refused(404, 'Sandbox x not found') },
      ],
    }),
    more: (subject) => {
      it('takes an answer without the network for unknown, and not for open', async ({ signal }) => {
        const { provider, server } = subject;
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
        const { provider, server } = subject;
        const names = [`sublet-ttl-a-${transport}`, `sublet-ttl-b-${transport}`, `sublet-ttl-c-${transport}`] as const;
        const spec = { labels: {}, kind: 'execution', network: 'none' } as const;
        const before = server.created.length;
        server.faults.arm(({ method, path }) => method === 'POST' && path === '/api/sandbox', { kind: 'lost-answer' });
        await provider.create({ ...spec, name: names[0], ephemeral: true, deadManMs: 90_000 }, signal);
        await provider.create({ ...spec, name: names[1], ephemeral: false, deadManMs: 600_000 }, signal);
        const keeping = await module.open(subject.context({ autoDeleteMinutes: 30, autoArchiveMinutes: 60 }));
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
        const { provider, server } = subject;
        const name = `sublet-foreign-${transport}`;
        const { id } = await server.sandboxes.create({ name, labels: { team: 'other' } });
        expect(await provider.attach({ name }, signal)).toBeUndefined();
        await provider.destroy({ name }, signal);
        expect(server.sandboxes.get(id)?.state).toBe('running');
      });
    },
  });
}
