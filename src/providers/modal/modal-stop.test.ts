/** Stop and start, which are several calls each at Modal: whoever dies between two of them loses, doubles and leaks nothing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requirement } from '../../../test/setup/requirements.ts';
import { providerContext, serveNamespaces } from '../../../test/setup/serve-namespaces.ts';
import type { SandboxProvider, SandboxSpec } from '../../provider/provider.ts';
import type { FaultRequest } from '../../testing/loopback/fault-switchboard.ts';
import { assertStill, collect } from '../../testing/provider-contract/provider-case.ts';
import { provider as module } from './index.ts';
import { ModalServer } from './modal-server.fixture.ts';

/** The calls of a stop, in their order, and what a sandbox is after each; likewise those of a start. */
const STOP = {
  SandboxGetFromNameV2: 'running',
  TaskSnapshotFilesystem: 'running',
  SandboxTagsSetV2: 'running',
  SandboxTerminateV2: 'stopped',
  ImageFromId: 'stopped',
} as const;
const START = { SandboxGetFromNameV2: 'stopped', ImageFromId: 'stopped', SandboxCreateV2: 'running' } as const;

const TOKEN = { tokenId: 'ak-test', tokenSecret: 'as-test' };
const isThere = await requirement('namespace');

describe.runIf(isThere)('a sandbox of modal that is stopped and started', () => {
  let service: Awaited<ReturnType<typeof serveNamespaces<ModalServer>>>;
  let server: ModalServer;
  let provider: SandboxProvider;
  let count = 0;

  const spec = (): SandboxSpec => ({
    name: `sublet-stop-${++count}`,
    labels: { 'sublet.installation': `stop-${count}`, n: '1' },
    kind: 'execution',
    network: 'none',
    ephemeral: false,
  });
  /** As another process has it, which knows nothing but the name. */
  const another = (): Promise<SandboxProvider> =>
    module.open(
      providerContext(
        { serverUrl: server.url },
        { MODAL_TOKEN_ID: TOKEN.tokenId, MODAL_TOKEN_SECRET: TOKEN.tokenSecret },
      ),
    );
  const remains = (): { readonly sandboxes: number; readonly snapshots: number } => ({
    sandboxes: server.sandboxes.size,
    snapshots: server.images.snapshots,
  });

  beforeAll(async () => {
    service = await serveNamespaces((backing) => new ModalServer(backing, TOKEN));
    server = service.server;
    provider = await another();
  });
  afterAll(async () => {
    await provider?.close();
    await service?.close();
  });

  for (const [last, state] of Object.entries(STOP)) {
    it(`a process that dies in a stop after ${last} leaves one sandbox with its files, and nothing after destroy`, async ({
      signal,
    }) => {
      const before = remains();
      const wanted = spec();
      const dying = await another();
      const { ref, files } = await dying.create(wanted, signal);
      await files.write('note', 'kept');
      await dieAfter(server, last, () => dying.stop?.(ref, signal));

      const heir = await another();
      const found = await heir.attach(ref, signal);
      expect(found?.state).toBe(state);
      const listed = await collect(heir.list(wanted.labels, signal));
      expect(listed.map((each) => [each.ref, each.state])).toEqual([[ref, state]]);
      await heir.start?.(ref, signal);
      expect(await (await heir.attach(ref, signal))?.files.readText('note')).toBe('kept');
      await heir.destroy(ref, signal);
      expect(await heir.attach(ref, signal)).toBeUndefined();
      expect(await collect(heir.list(wanted.labels, signal))).toEqual([]);
      // A snapshot that nobody was told of expires.
      const unknown = last === 'TaskSnapshotFilesystem' ? 1 : 0;
      expect(remains()).toEqual({ ...before, snapshots: before.snapshots + unknown });
      await Promise.all([heir.close(), dying.close()]);
    });
  }

  for (const [last, state] of Object.entries(START)) {
    it(`a process that dies in a start after ${last} leaves one sandbox with its files, and nothing after destroy`, async ({
      signal,
    }) => {
      const before = remains();
      const wanted = spec();
      const dying = await another();
      const { ref, files } = await dying.create(wanted, signal);
      await files.write('note', 'kept');
      await dying.stop?.(ref, signal);
      await dieAfter(server, last, () => dying.start?.(ref, signal));

      const heir = await another();
      const found = await heir.attach(ref, signal);
      expect(found?.state).toBe(state);
      expect(await collect(heir.list(wanted.labels, signal))).toHaveLength(1);
      await Promise.all([heir.start?.(ref, signal), (await another()).start?.(ref, signal)]);
      expect(server.sandboxes.size).toBe(before.sandboxes + 1);
      expect(await (await heir.attach(ref, signal))?.files.readText('note')).toBe('kept');
      await heir.destroy(ref, signal);
      expect(remains()).toEqual(before);
      await Promise.all([heir.close(), dying.close()]);
    });
  }

  it('a start whose answer is lost has started one', async ({ signal }) => {
    const before = remains();
    const { ref, files } = await provider.create(spec(), signal);
    await files.write('note', 'kept');
    await provider.stop?.(ref, signal);
    server.faults.arm(({ path }) => path.endsWith('/SandboxCreateV2'), { kind: 'lost-answer' });
    await provider.start?.(ref, signal);
    expect(server.sandboxes.size).toBe(before.sandboxes + 1);
    expect(await (await provider.attach(ref, signal))?.files.readText('note')).toBe('kept');
    await provider.destroy(ref, signal);
    expect(remains()).toEqual(before);
  });

  for (const last of ['SandboxGetFromNameV2', 'SandboxTagsSetV2', 'ImageDelete', 'SandboxTerminateV2']) {
    it(`a process that dies in a destroy after ${last} leaves nothing that a second one does not remove`, async ({
      signal,
    }) => {
      const before = remains();
      const dying = await another();
      const { ref } = await dying.create(spec(), signal);
      await dying.stop?.(ref, signal);
      await dying.start?.(ref, signal);
      await dieAfter(server, last, () => dying.destroy(ref, signal));
      await provider.destroy(ref, signal);
      expect(await provider.attach(ref, signal)).toBeUndefined();
      expect(remains()).toEqual(before);
      await dying.close();
    });
  }

  it('commands in the background are ended before the snapshot, so that nothing is written behind it', async ({
    signal,
  }) => {
    const sandbox = await provider.create(spec(), signal);
    await sandbox.commands.start('while :; do echo beat >>beats; sleep 0.02; done');
    await sandbox.commands.run('until [ -s beats ]; do sleep 0.02; done');
    const armed = server.faults.arm(({ path }) => path.endsWith('/TaskSnapshotFilesystem'), { kind: 'held' });
    const stopping = provider.stop?.(sandbox.ref, signal);
    await armed.meeting;
    await assertStill(sandbox, 'beats');
    const written = await sandbox.files.readText('beats');
    armed.release();
    await stopping;
    await provider.start?.(sandbox.ref, signal);
    expect(await (await provider.attach(sandbox.ref, signal))?.files.readText('beats')).toBe(written);
    await provider.destroy(sandbox.ref, signal);
  });

  it('what was written after a stop that was not finished is never given up for an older disk', async ({ signal }) => {
    const { ref, files } = await provider.create(spec(), signal);
    await files.write('note', 'old');
    await dieAfter(server, 'SandboxTagsSetV2', () => provider.stop?.(ref, signal));
    const found = await provider.attach(ref, signal);
    expect(found?.state).toBe('running');
    await found?.files.write('note', 'new');
    await provider.stop?.(ref, signal);
    await provider.start?.(ref, signal);
    expect(await (await provider.attach(ref, signal))?.files.readText('note')).toBe('new');
    await dieAfter(server, 'SandboxTagsSetV2', () => provider.stop?.(ref, signal));
    await server.expire(ref.name);
    expect(await provider.attach(ref, signal)).toBeUndefined();
    expect(await collect(provider.list({}, signal))).not.toContainEqual(expect.objectContaining({ ref }));
  });

  it('a started sandbox that ends by itself does not fall back to the disk it was started from', async ({ signal }) => {
    const { ref } = await provider.create(spec(), signal);
    await provider.stop?.(ref, signal);
    await provider.start?.(ref, signal);
    await server.expire(ref.name);
    expect(await provider.attach(ref, signal)).toBeUndefined();
  });

  it('a stopped sandbox is listed with its labels and its network, and a create gives it back', async ({ signal }) => {
    const wanted = spec();
    const { ref, files } = await provider.create(wanted, signal);
    await files.write('note', 'kept');
    await provider.stop?.(ref, signal);
    const [listed] = await collect(provider.list(wanted.labels, signal));
    expect(listed).toMatchObject({ ref, labels: wanted.labels, state: 'stopped' });
    const stopped = await provider.attach(ref, signal);
    expect(stopped).toMatchObject({ state: 'stopped', network: 'none' });
    expect(stopped?.deadManAt).toBeGreaterThan(Date.now() + 29 * 24 * 3_600_000);
    await expect(stopped?.commands.run('true')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    await expect(provider.snapshot?.(ref, signal)).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    const before = server.sandboxes.size;
    const again = await provider.create(wanted, signal);
    expect(server.sandboxes.size).toBe(before + 1);
    expect(again).toMatchObject({ state: 'running', network: 'none' });
    expect(await again.files.readText('note')).toBe('kept');
    await provider.destroy(ref, signal);
  });

  it('many stops keep one disk', async ({ signal }) => {
    const before = server.images.snapshots;
    const { ref, files } = await provider.create(spec(), signal);
    for (const round of ['1', '2', '3']) {
      await (await provider.attach(ref, signal))?.files.write(round, round);
      await provider.stop?.(ref, signal);
      expect(server.images.snapshots).toBe(before + 1);
      await provider.start?.(ref, signal);
    }
    expect((await (await provider.attach(ref, signal))?.commands.run('cat 1 2 3'))?.stdout).toBe('123');
    await expect(files.exists('1')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    await provider.destroy(ref, signal);
    expect(server.images.snapshots).toBe(before);
  });
});

/** Whatever is asked after the first call of that kind reaches nobody, as if the process were gone. */
async function dieAfter(server: ModalServer, last: string, act: () => Promise<void> | undefined): Promise<void> {
  let isDead = false;
  const isAfter = ({ path }: FaultRequest): boolean => {
    const wasDead = isDead;
    isDead ||= path.endsWith(`/${last}`);
    return wasDead;
  };
  const armed = server.faults.arm(isAfter, { kind: 'unreachable' }, Number.MAX_SAFE_INTEGER);
  await act()?.catch(() => undefined);
  expect(isDead).toBe(true);
  armed.release();
}
