/** Snapshots and what comes of them after a loss: real processes, real archives. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSnapshotFiles } from '../config/snapshot-files.ts';
import type { LifecyclePolicy } from '../core/policy.ts';
import { systemClock } from '../core/system-clock.ts';
import type { SandboxProvider } from '../provider/provider.ts';
import { provider as local } from '../providers/local/index.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import type { MemoryStore } from '../stores/memory/memory-store.ts';
import { silentLog } from '../telemetry/log.ts';
import { FaultyWorld, createFaultyPorts } from '../testing/index.ts';
import type { Manager } from './create-manager.ts';
import { createManager } from './create-manager.ts';
import type { ManagerOptions } from './manager-options.ts';
import type { ManagerPorts } from './ports.ts';

const KEY = { user: 'ada', task: 'thesis' };

let directory: string;
let store: MemoryStore;
let provider: SandboxProvider;
const opened: Manager[] = [];

beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'sublet-restore-'));
  store = createMemoryStore();
  const stateDir = path.join(directory, 'provider');
  provider = await local.open({ stateDir, clock: systemClock, log: silentLog, options: {}, secret: () => undefined });
});

afterEach(async () => {
  for (const manager of opened) await manager.destroyAllSessions().catch(() => 0);
  await Promise.all(opened.splice(0).map((manager) => manager.close()));
  await provider.close();
  await rm(directory, { recursive: true, force: true });
});

describe.runIf(process.platform === 'linux')('after a loss with onLost restore', () => {
  it('the working directory is as it was at the last snapshot, and the caller is told', async () => {
    const manager = await open();
    const session = await manager.session(KEY);
    await session.commands.run('mkdir -p a/b; printf first > "a/b/a file"; ln -s "a/b/a file" link; chmod 700 a');
    await session.snapshot();
    await session.commands.run('printf second > "a/b/a file"');
    const snapshot = await session.snapshot();
    await session.commands.run('printf later > late.txt');
    await lose(session.sandboxId);

    const next = await (await open()).session(KEY);
    expect(next.created).toBe(true);
    expect(next.notices).toMatchObject([
      { type: 'restored', lostSandboxId: session.sandboxId, snapshotAt: snapshot.at },
    ]);
    expect(next.notices[0]?.message).toContain(new Date(snapshot.at).toISOString());
    expect(next.notices[0]?.message).toMatch(/processes and installed software are gone/);
    expect((await next.commands.run('cat link; ls; stat -c %a a')).stdout).toBe('seconda\nlink\n700\n');
    const types = (await manager.events({ sessionKey: next.key })).map(({ type }) => type);
    expect(types.filter((type) => type === 'snapshot.taken' || type === 'session.restored')).toEqual([
      'snapshot.taken',
      'snapshot.taken',
      'session.restored',
    ]);
  });

  it('a snapshot taken by the id of the sandbox serves as well, and a second loss is restored too', async () => {
    const session = await (await open()).session(KEY);
    await session.files.write('work', 'kept');
    const other = await open();
    await other.sandboxes.snapshot(session.sandboxId, 'before the upgrade');
    for (let loss = 0; loss < 2; loss++) {
      await lose((await store.getSession(session.key))?.sandbox.id ?? '');
      const next = await (await open()).session(KEY);
      expect(next.notices).toMatchObject([{ type: 'restored' }]);
      expect(await next.files.readText('work')).toBe('kept');
    }
  });

  it('a snapshot that is damaged is not half restored: a fresh sandbox, and a notice that says so', async () => {
    const session = await (await open()).session(KEY);
    await session.files.write('work', 'kept');
    await session.snapshot();
    const names = await readdir(path.join(directory, 'snapshots'), { recursive: true });
    const archive = names.find((name) => name.endsWith('.tar')) ?? '';
    await writeFile(path.join(directory, 'snapshots', archive), 'not what was saved');
    await lose(session.sandboxId);
    const next = await (await open()).session(KEY);
    expect(next.notices).toMatchObject([{ type: 'replaced', lostSandboxId: session.sandboxId }]);
    expect(next.notices[0]?.message).toMatch(/could not be restored \(SNAPSHOT_UNREADABLE/);
    expect(await next.files.list('.')).toEqual([]);
  });

  it('an archive that does not unpack leaves nothing of itself', async () => {
    const session = await (await open()).session(KEY);
    const { snapshot } = await saveGarbage(session.key, session.sandboxId);
    await lose(session.sandboxId);
    const next = await (await open()).session(KEY);
    expect(next.notices[0]?.message).toContain(`its snapshot of ${new Date(snapshot.at).toISOString()} could not be`);
    expect(await next.files.list('.')).toEqual([]);
  });

  it('nobody gets the sandbox before it is restored', async () => {
    const session = await (await open()).session(KEY);
    await session.commands.run('head -c 5000000 /dev/urandom > big');
    await session.snapshot();
    await lose(session.sandboxId);
    const sessions = await Promise.all([open(), open(), open()].map(async (each) => (await each).session(KEY)));
    const sizes = await Promise.all(sessions.map(async (each) => (await each.files.stat('big')).sizeBytes));
    expect(sizes).toEqual([5_000_000, 5_000_000, 5_000_000]);
    expect(sessions.flatMap(({ notices }) => notices)).toMatchObject([{ type: 'restored' }]);
  });

  it('what a killed restorer owes is restored by the next', async () => {
    const session = await (await open()).session(KEY);
    await session.files.write('work', 'kept');
    await session.snapshot();
    await lose(session.sandboxId);
    const failing = await open({
      provider: async () =>
        Object.create(provider, {
          capabilities: { value: provider.capabilities },
          attach: { value: (...call: Parameters<SandboxProvider['attach']>) => provider.attach(...call) },
          destroy: { value: (...call: Parameters<SandboxProvider['destroy']>) => provider.destroy(...call) },
          create: { value: () => Promise.reject(new Error('no room')) },
        }) as SandboxProvider,
    });
    await expect(failing.session(KEY)).rejects.toMatchObject({ code: 'CREATE_FAILED' });
    const next = await (await open()).session(KEY);
    expect(next.notices).toMatchObject([{ type: 'restored' }]);
    expect(await next.files.readText('work')).toBe('kept');
  });

  it('without a snapshot it is as recreate, and the notice says so', async () => {
    const session = await (await open()).session(KEY);
    await lose(session.sandboxId);
    const next = await (await open()).session(KEY);
    expect(next.notices[0]?.message).toContain('there is no snapshot to restore');
  });

  it('a sandbox that was destroyed by hand starts empty', async () => {
    const manager = await open();
    const session = await manager.session(KEY);
    await session.files.write('work', 'kept');
    await session.snapshot();
    await manager.sandboxes.destroy(session.sandboxId);
    const next = await (await open()).session(KEY);
    expect(next.notices).toMatchObject([{ type: 'replaced' }]);
    expect(await next.files.list('.')).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('a snapshot', () => {
  it('is refused where nothing is kept, and by one who may not use the sandbox', async () => {
    const manager = await open({ snapshots: undefined as never });
    const session = await manager.session(KEY);
    await expect(session.snapshot()).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    const other = await open();
    await using lease = await other.lease({ sandboxId: session.sandboxId });
    await expect(session.snapshot()).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await expect(other.sandboxes.snapshot(session.sandboxId)).rejects.toMatchObject({ code: 'LEASE_HELD' });
    expect(lease.token).toBe(1);
  });

  it('that cannot be packed whole is not kept', async () => {
    const session = await (await open()).session(KEY);
    const failing = await open({
      snapshots: async () => ({
        ...createSnapshotFiles(path.join(directory, 'snapshots')),
        save: () => Promise.reject(new Error('disk full')),
      }),
    });
    await expect(failing.sandboxes.snapshot(session.sandboxId)).rejects.toThrow('disk full');
    expect((await store.getSession(session.key))?.session.snapshot).toBeUndefined();
  });

  it('that would be larger than it may is not kept, whatever the files say they are', async () => {
    const manager = await open({}, { maxSnapshotBytes: 2 ** 20 });
    const session = await manager.session(KEY);
    await session.files.write('small', 'kept');
    const { id } = await session.snapshot();
    await session.commands.run('truncate -s 10T large');
    const refused = { code: 'FILE_FAILED', hint: expect.stringContaining('holes') };
    await expect(session.snapshot()).rejects.toMatchObject(refused);
    const [folder = ''] = await readdir(path.join(directory, 'snapshots'));
    const names = await readdir(path.join(directory, 'snapshots', folder));
    expect(names.toSorted()).toEqual([`${id}.tar`, 'session.json']);
  });

  it('of a sandbox of no session is refused', async () => {
    const manager = await open();
    await manager.ephemeral({}, async ({ sandboxId }) => {
      await expect(manager.sandboxes.snapshot(sandboxId)).rejects.toMatchObject({ code: 'USAGE' });
    });
  });
});

async function open(instead: Partial<ManagerPorts> = {}, options: ManagerOptions = {}): Promise<Manager> {
  const policy: Partial<LifecyclePolicy> = { onLost: 'restore', onExit: 'keep' };
  const ports = createFaultyPorts(new FaultyWorld(systemClock), store, { id: 'local', policy });
  const snapshots = async (): Promise<ReturnType<typeof createSnapshotFiles>> =>
    createSnapshotFiles(path.join(directory, 'snapshots'));
  const manager = await createManager({ ...ports, provider: async () => provider, snapshots, ...instead }, options);
  opened.push(manager);
  return manager;
}

/** Gone without anybody of ours having asked. */
async function lose(id: string): Promise<void> {
  const row = await store.getSandbox(id);
  await provider.destroy({ name: row?.name ?? '' }, new AbortController().signal);
}

async function saveGarbage(key: string, sandboxId: string): Promise<{ readonly snapshot: { readonly at: number } }> {
  const files = createSnapshotFiles(path.join(directory, 'snapshots'));
  const garbage = async function* (): AsyncIterable<Uint8Array> {
    yield Buffer.alloc(20_000, 'x');
  };
  const snapshot = { ...(await files.save(key, garbage())), at: 1_700_000_000_000 };
  await store.keepSnapshot(key, { sandboxId, snapshot, cause: 'a test' });
  return { snapshot };
}
