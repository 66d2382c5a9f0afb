/** The moment in which a key moves: what is left when it fails, is not heard of, or its mover dies. */
import { afterEach, describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import type { Leases } from '../../store/leases.ts';
import type { Store } from '../../store/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { FaultyMachine, FaultyWorld, ManualClock, createFaultyPorts } from '../../testing/index.ts';
import type { Manager } from '../create-manager.ts';
import { createManager } from '../create-manager.ts';

type HandOver = Leases['handOver'];

const KEY = 'execution:ada:thesis';
const PARTS = { user: 'ada', task: 'thesis' };
const MINUTE = 60_000;

const stages: { readonly clock: ManualClock; readonly managers: Manager[] }[] = [];

afterEach(async () => {
  for (const { clock, managers } of stages.splice(0)) {
    const over = new Promise((resolve) => clock.schedule(2 * MINUTE, () => resolve(undefined)));
    const closing = Promise.race([Promise.all(managers.map((manager) => manager.close())), over]);
    await clock.advance(3 * MINUTE);
    await closing;
  }
});

describe('a session that moves', () => {
  it('is at its target with its files, and what it had is gone', async () => {
    const { manager, world, store } = await stage();
    const session = await manager.session(PARTS);
    await session.files.write('a/b.txt', 'kept');
    const before = session.sandboxId;
    const report = await session.migrate({ to: 'elsewhere' });
    expect(report).toMatchObject({ entries: 2, bytes: 4, to: { profile: 'elsewhere', sandboxId: session.sandboxId } });
    expect(await session.files.readText('a/b.txt')).toBe('kept');
    expect(world.boxes).toHaveLength(1);
    expect((await store.getSandbox(before))?.state).toBe('destroyed');
    expect(await store.getSession(KEY)).toMatchObject({
      session: { profile: 'elsewhere' },
      sandbox: { id: session.sandboxId, ephemeral: false, state: 'running' },
    });
  });

  it('stays when the record refuses, and nothing is left of its target', async () => {
    const { manager, world, store } = await stage(async () => {
      throw new SubletError('STORE_BUSY', 'The store stayed locked.');
    });
    const session = await manager.session(PARTS);
    await expect(session.migrate({ to: 'elsewhere' })).rejects.toMatchObject({ code: 'STORE_BUSY' });
    await expectAt(store, world, session.sandboxId);
  });

  it('has moved when only the answer was lost', async () => {
    const { manager, world, store } = await stage(async (handOver, ...call) => {
      await handOver(...call);
      throw new SubletError('STORE_FAILED', 'The connection broke.');
    });
    const session = await manager.session(PARTS);
    const before = session.sandboxId;
    await session.migrate({ to: 'elsewhere' });
    expect(session.sandboxId).not.toBe(before);
    await expectAt(store, world, session.sandboxId);
  });

  it('stays when it was tightened on the way', async () => {
    const { manager, world, store, clock } = await stage(async (handOver, ...call) => {
      await store.tightenSession(KEY, 'none', 'private', clock.now());
      return handOver(...call);
    });
    const session = await manager.session({ ...PARTS, network: 'open' });
    await expect(session.migrate({ to: 'elsewhere' })).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    await expectAt(store, world, session.sandboxId);
  });

  it('stays when its mover lost the lease', async () => {
    const { manager, world, store, clock } = await stage(async (handOver, key, move) => {
      await store.leases.release(move.from, move.token, 'taken away', clock.now());
      return handOver(key, move);
    });
    const session = await manager.session(PARTS);
    await expect(session.migrate({ to: 'elsewhere' })).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    await expectAt(store, world, session.sandboxId);
  });

  it.each(['before', 'after'] as const)('is in one place when its mover dies right %s its key moved', async (when) => {
    const machine = new FaultyMachine();
    const process = machine.start();
    const { manager, world, store, another, clock } = await stage(
      async (handOver, ...call) => {
        if (when === 'after') await handOver(...call);
        process.kill();
        return undefined;
      },
      { machine, process },
    );
    const session = await manager.session({ ...PARTS, policy: { onExit: 'keep' } });
    await session.files.write('a.txt', 'kept');
    const before = session.sandboxId;
    void session.migrate({ to: 'elsewhere' }).catch(() => {});
    await expect.poll(() => process.isDead).toBe(true);
    const other = await another(machine);
    await other.sweep();
    await clock.advance(MINUTE);
    const found = await other.session(PARTS);
    expect(found.sandboxId === before).toBe(when === 'before');
    expect(await found.files.readText('a.txt')).toBe('kept');
    await expectAt(store, world, found.sandboxId);
  });
});

/** That one, and nothing else at the provider or on record. */
async function expectAt(store: Store, world: FaultyWorld, id: string): Promise<void> {
  const live = await store.findSandboxes({ states: ['creating', 'running', 'paused', 'stopped', 'destroying'] });
  expect(live.map((row) => [row.id, row.ephemeral])).toEqual([[id, false]]);
  expect((await store.getSession(KEY))?.sandbox.id).toBe(id);
  expect(world.boxes.map(({ name }) => name)).toEqual(live.map(({ name }) => name));
}

interface Stage {
  readonly clock: ManualClock;
  readonly world: FaultyWorld;
  readonly store: Store;
  readonly manager: Manager;
  /** Another process of the same machine, whose hand-overs are sound. */
  readonly another: (machine: FaultyMachine) => Promise<Manager>;
}

async function stage(
  handOver?: (really: HandOver, ...call: Parameters<HandOver>) => ReturnType<HandOver>,
  at: Parameters<typeof createFaultyPorts>[2] = {},
): Promise<Stage> {
  const clock = new ManualClock();
  const world = new FaultyWorld(clock);
  const store = createMemoryStore();
  const managers: Manager[] = [];
  stages.push({ clock, managers });
  const ports = createFaultyPorts(world, store, at);
  const really: HandOver = (...call) => store.leases.handOver(...call);
  const leases = new Proxy(ports.store.leases, {
    get: (target, name) =>
      name === 'handOver' && handOver !== undefined
        ? (...call: Parameters<HandOver>) => handOver(really, ...call)
        : (Reflect.get(target, name) as unknown),
  });
  const seen = new Proxy(ports.store, {
    get: (target, name) => (name === 'leases' ? leases : (Reflect.get(target, name) as unknown)),
  });
  const manager = await createManager({ ...ports, store: seen });
  managers.push(manager);
  const another = async (machine: FaultyMachine): Promise<Manager> => {
    const other = await createManager(createFaultyPorts(world, store, { machine, process: machine.start() }));
    managers.push(other);
    return other;
  };
  return { clock, world, store, manager, another };
}
