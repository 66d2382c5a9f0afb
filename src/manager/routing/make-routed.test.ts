/** An ordered choice of sandboxes: what is passed over, what is cleaned up before the next try, what is remembered. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SubletError } from '../../core/errors.ts';
import type { NewEvent } from '../../core/events.ts';
import type { Store } from '../../store/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { openSqliteStore } from '../../stores/sqlite/index.ts';
import type { FaultyPlace, FaultyPorts, FaultyPortsOptions } from '../../testing/index.ts';
import {
  FAULTY_CAPABILITIES,
  FaultyMachine,
  FaultyWorld,
  ManualClock,
  createFaultyPorts,
  settle,
} from '../../testing/index.ts';
import type { Manager } from '../create-manager.ts';
import { createManager } from '../create-manager.ts';

const ROUTE = { sandbox: ['first', 'second'] };
const KEY = { user: 'ada', task: 'thesis' };
const MINUTE = 60_000;
const REFUSED = { type: 'refused' } as const;

interface Stage {
  readonly clock: ManualClock;
  readonly store: Store;
  readonly first: FaultyWorld;
  readonly second: FaultyWorld;
  readonly ports: FaultyPorts;
  readonly manager: Manager;
  readonly another: (options?: FaultyPortsOptions) => Promise<Manager>;
}

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

describe.each([
  { name: 'memory', open: async () => createMemoryStore() },
  { name: 'sqlite', open: openTemporary },
])('an ordered choice, over $name', ({ open }) => {
  it('uses the first that can make it, and asks no other', async () => {
    const { manager, first, second } = await stage(await open());
    const session = await manager.session({ ...KEY, ...ROUTE });
    expect([first.calls.create, second.calls.create]).toEqual([1, 0]);
    expect(session.notices).toEqual([]);
    expect(await manager.sandboxes.get(session.sandboxId)).toMatchObject({ provider: 'first', profile: 'first' });
  });

  it('falls to the second when the first refuses, and leaves nothing at the first', async () => {
    const { manager, first, second } = await stage(await open());
    first.plan('create', REFUSED);
    const session = await manager.session({ ...KEY, ...ROUTE });
    expect([first.boxes.length, second.boxes.length]).toEqual([0, 1]);
    expect(await manager.sandboxes.get(session.sandboxId)).toMatchObject({ provider: 'second', profile: 'second' });
    expect(session.notices).toMatchObject([
      { type: 'routed', profile: 'second', passedOver: [{ profile: 'first', code: 'PROVIDER_UNAVAILABLE' }] },
    ]);
  });

  it('destroys what the first made although its answer was lost, before the second is asked', async () => {
    const { manager, first, second, store } = await stage(await open());
    first.plan('create', { type: 'lost-answer' });
    let before: readonly string[] | undefined;
    const create = second.add.bind(second);
    second.add = (spec) => {
      before = first.boxes.map(({ name }) => name);
      return create(spec);
    };
    await manager.run('true', ROUTE);
    expect(before).toEqual([]);
    const rows = await store.findSandboxes({});
    expect(rows.map(({ provider, state }) => `${provider} ${state}`).toSorted()).toEqual([
      'first destroyed',
      'second destroyed',
    ]);
  });

  it('hands what it cannot clean up to the sweep, and goes on', async () => {
    const { manager, first, second, store, clock } = await stage(await open());
    first.plan('create', { type: 'lost-answer' });
    first.plan('destroy', REFUSED);
    const session = await manager.session({ ...KEY, ...ROUTE });
    expect([first.boxes.length, second.boxes.length]).toEqual([1, 1]);
    expect(await store.findSandboxes({ states: ['destroying'] })).toHaveLength(1);
    await clock.advance(3 * MINUTE);
    expect([first.boxes.length, second.boxes.length]).toEqual([0, 1]);
    expect((await manager.sandboxes.get(session.sandboxId)).state).toBe('running');
  });

  it('keeps a session where it was made, also for who names the list again and in another process', async () => {
    const { manager, first, second, another } = await stage(await open());
    first.plan('create', REFUSED);
    const before = await manager.session({ ...KEY, ...ROUTE });
    const other = await another();
    for (const asked of [ROUTE, { sandbox: 'first,second' }, { sandbox: 'second' }, {}]) {
      const after = await other.session({ ...KEY, ...asked });
      expect([after.sandboxId, after.created]).toEqual([before.sandboxId, false]);
    }
    await expect(other.session({ ...KEY, sandbox: ['first', 'third'] })).rejects.toMatchObject({
      code: 'STATE_CONFLICT',
    });
    expect([first.calls.create, second.calls.create]).toEqual([1, 1]);
  });

  it('makes a session anew where it was, and elsewhere when that fails', async () => {
    const { manager, first, second } = await stage(await open());
    const before = await manager.session({ ...KEY, ...ROUTE });
    await manager.sandboxes.destroy(before.sandboxId);
    first.plan('create', REFUSED);
    const after = await manager.session({ ...KEY, ...ROUTE });
    expect(after.notices.map(({ type }) => type)).toEqual(['replaced', 'routed']);
    expect([first.boxes.length, second.boxes.length]).toEqual([0, 1]);
    await manager.sandboxes.destroy(after.sandboxId);
    await manager.session({ ...KEY, ...ROUTE });
    expect([first.boxes.length, second.boxes.length]).toEqual([0, 1]);
  });

  it('does not leave a volume for another provider', async () => {
    const { manager, first, second } = await stage(await open());
    const asked = { ...KEY, ...ROUTE, contextId: 'data' };
    const before = await manager.session(asked);
    await manager.sandboxes.destroy(before.sandboxId);
    first.plan('create', REFUSED);
    await expect(manager.session(asked)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect(second.calls.create).toBe(0);
  });

  it('is finished by another process when the first one dies between the tries', async () => {
    const machine = new FaultyMachine();
    const process = machine.start();
    const { first, second, store, another, manager } = await stage(await open(), { machine, process });
    first.plan('create', { type: 'lost-answer' });
    const destroy = first.remove.bind(first);
    first.remove = (name) => {
      destroy(name);
      process.kill();
    };
    void manager.session({ ...KEY, ...ROUTE }).catch(() => {});
    await expect.poll(() => process.isDead).toBe(true);
    first.remove = destroy;
    const other = await another({ machine, process: machine.start() });
    const session = await other.session({ ...KEY, ...ROUTE });
    expect([first.boxes.length, second.boxes.length, first.calls.create]).toEqual([0, 1, 1]);
    expect(session.notices).toEqual([]);
    await other.sweep();
    const live = await store.findSandboxes({ states: ['creating', 'running', 'destroying'] });
    expect(live.map(({ id }) => id)).toEqual([session.sandboxId]);
  });

  it('makes one sandbox for many first uses in several processes, whatever fails on the way', async () => {
    const { first, second, manager, another, clock } = await stage(await open());
    const managers = [manager, await another(), await another()];
    first.plan('create', REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED);
    const acquiring = Promise.all(managers.map((each) => each.session({ ...KEY, ...ROUTE })));
    await clock.advance(10_000);
    const sessions = await acquiring;
    expect(new Set(sessions.map(({ sandboxId }) => sandboxId)).size).toBe(1);
    expect([first.boxes.length, second.boxes.length]).toEqual([0, 1]);
  });
});

describe('a choice', () => {
  it('is passed over before anything is made when it lacks what is needed', async () => {
    const places = { first: { capabilities: FAULTY_CAPABILITIES.filter((each) => each !== 'pause') } };
    const { manager, first, second, store } = await stage(createMemoryStore(), {}, places);
    await manager.run('true', { ...ROUTE, needs: ['pause'] });
    expect([first.calls.create, second.calls.create]).toEqual([0, 1]);
    expect(await store.findSandboxes({ provider: 'first' })).toEqual([]);
  });

  it.each([
    ['a network level', { network: 'none' }, 'network-none', 'NETWORK_NOT_ENFORCEABLE'],
    ['a volume', { contextId: 'data' }, 'volumes', 'UNSUPPORTED'],
    ['mounts', { mounts: [{ source: '/srv', target: '/data' }] }, 'mounts', 'UNSUPPORTED'],
    ['a memory limit', { limits: { memoryBytes: 1e9 } }, 'limit-memory', 'UNSUPPORTED'],
  ] as const)('is passed over without %s', async (_, asked, missing, code) => {
    const places = { first: { capabilities: FAULTY_CAPABILITIES.filter((each) => each !== missing) } };
    const { manager, second } = await stage(createMemoryStore(), {}, places);
    const session = await manager.session({ ...KEY, ...ROUTE, ...asked });
    expect(session.notices).toMatchObject([{ type: 'routed', passedOver: [{ profile: 'first', code }] }]);
    expect(second.boxes).toHaveLength(1);
  });

  it('of a session that exists is held to what a later use needs', async () => {
    const places = { first: { capabilities: FAULTY_CAPABILITIES.filter((each) => each !== 'pause') } };
    const { manager } = await stage(createMemoryStore(), {}, places);
    await manager.session({ ...KEY, ...ROUTE });
    await expect(manager.session({ ...KEY, needs: ['pause'] })).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });

  it('is not passed over for what the caller did', async () => {
    const { manager, first, second, clock } = await stage(createMemoryStore());
    first.plan('create', { type: 'slow', ms: MINUTE });
    const abort = new AbortController();
    const running = manager.run('true', { ...ROUTE, signal: abort.signal });
    await settle();
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
    await clock.advance(MINUTE);
    expect([first.boxes.length, second.calls.create]).toEqual([0, 0]);
  });

  it('is not passed over when somebody destroyed what was being made', async () => {
    const { manager, first, second, clock, store } = await stage(createMemoryStore());
    first.plan('create', { type: 'slow', ms: 1_000 });
    const failing = expect(manager.session({ ...KEY, ...ROUTE })).rejects.toMatchObject({ code: 'CREATE_FAILED' });
    await settle();
    const [row] = await store.findSandboxes({ states: ['creating'] });
    await manager.sandboxes.destroy(row?.id ?? '');
    await clock.advance(2_000);
    await failing;
    expect([first.boxes.length, second.calls.create]).toEqual([0, 0]);
  });

  it('that takes too long is given up and cleaned up', async () => {
    const { manager, first, second, clock } = await stage(createMemoryStore());
    first.plan('create', { type: 'stuck' });
    const made = manager.session({ ...KEY, ...ROUTE, policy: { timeoutSeconds: 10 } });
    await clock.advance(11_000);
    expect((await made).notices).toMatchObject([{ type: 'routed', passedOver: [{ code: 'CREATE_TIMEOUT' }] }]);
    expect([first.boxes.length, second.boxes.length]).toEqual([0, 1]);
  });
});

describe('the last choice', () => {
  it('that fails is told with the reasons of all', async () => {
    const { manager, first, second, store } = await stage(createMemoryStore());
    first.plan('create', REFUSED);
    second.plan('create', { type: 'rate-limited', retryAfterMs: 5_000 });
    const error = await rejection(manager.session({ ...KEY, ...ROUTE }));
    expect(error.code).toBe('ROUTE_EXHAUSTED');
    expect(error.message).toContain('first: PROVIDER_UNAVAILABLE: The provider refused create.');
    expect(error.message).toContain('second: RATE_LIMITED: Slow down.');
    expect(error.details['choices']).toMatchObject([{ profile: 'first' }, { profile: 'second' }]);
    expect([...first.boxes, ...second.boxes]).toEqual([]);
    expect(await store.listSessions()).toEqual([]);
  });

  it('that is the only one fails with its own error', async () => {
    const { manager, first } = await stage(createMemoryStore());
    first.plan('create', REFUSED);
    expect((await rejection(manager.run('true', { sandbox: 'first' }))).code).toBe('PROVIDER_UNAVAILABLE');
  });

  it('never gets a weaker network than the first', async () => {
    const { manager, ports, first, second } = await stage(createMemoryStore());
    const resolve = ports.resolve;
    Object.assign(ports, {
      resolve: async (...call: Parameters<typeof resolve>) => {
        const { otherwise = [], ...one } = await resolve(...call);
        return { ...one, network: 'none', otherwise: otherwise.map((each) => ({ ...each, network: 'open' })) };
      },
    });
    first.plan('create', REFUSED);
    const session = await manager.session({ ...KEY, ...ROUTE });
    expect([session.network, second.boxes[0]?.network]).toEqual(['none', 'none']);
  });
});

describe('the breaker of a choice', () => {
  it('opens after two failures, lets one try when its time is over, and closes when that works', async () => {
    const { manager, first, clock } = await stage(createMemoryStore());
    first.plan('create', REFUSED, REFUSED);
    for (let time = 0; time < 4; time++) await manager.run('true', ROUTE);
    expect(first.calls.create).toBe(2);
    await clock.advance(1_000);
    first.plan('create', { type: 'slow', ms: 500 });
    const trying = Promise.all([manager.run('true', ROUTE), manager.run('true', ROUTE), manager.run('true', ROUTE)]);
    await clock.advance(500);
    await trying;
    expect(first.calls.create).toBe(3);
    await manager.run('true', ROUTE);
    expect(first.calls.create).toBe(4);
    const events = (await manager.events()).filter(({ type }) => type.startsWith('provider.'));
    expect(events.map(({ type, details }) => [type, details])).toEqual([
      ['provider.tripped', { provider: 'first', profile: 'first' }],
      ['provider.recovered', { provider: 'first', profile: 'first' }],
    ]);
  });

  it('puts a choice off and does not rule it out: with nothing else left it is tried', async () => {
    const { manager, first, second } = await stage(createMemoryStore());
    first.plan('create', REFUSED, REFUSED);
    for (let time = 0; time < 2; time++) await manager.run('true', ROUTE);
    second.plan('create', REFUSED);
    await manager.run('true', ROUTE);
    expect([first.calls.create, second.calls.create]).toEqual([3, 3]);
  });

  it('is not moved by what a provider is not able to do', async () => {
    const places = { first: { capabilities: FAULTY_CAPABILITIES.filter((each) => each !== 'pause') } };
    const { manager, first } = await stage(createMemoryStore(), {}, places);
    for (let time = 0; time < 3; time++) await manager.run('true', { ...ROUTE, needs: ['pause'] });
    await manager.run('true', ROUTE);
    expect(first.calls.create).toBe(1);
  });

  it('tells of every choice that was passed over, with its reason', async () => {
    const { manager, first } = await stage(createMemoryStore());
    first.plan('create', REFUSED, REFUSED);
    for (let time = 0; time < 3; time++) await manager.session({ task: `t${time}`, ...ROUTE });
    const told = (await manager.events()).filter(({ type }: NewEvent) => type === 'route.passed-over');
    expect(told.map(({ cause }) => cause)).toEqual([
      '"first" was passed over (PROVIDER_UNAVAILABLE): The provider refused create.',
      '"first" was passed over (PROVIDER_UNAVAILABLE): The provider refused create.',
      '"first" was passed over (PROVIDER_UNAVAILABLE): it failed 2 times in a row and is asked again in 1 s; The provider refused create.',
    ]);
    expect(told[0]).toMatchObject({ details: { profile: 'first', code: 'PROVIDER_UNAVAILABLE' } });
    expect(told.map(({ sandboxId }) => sandboxId === undefined)).toEqual([false, false, true]);
  });
});

async function openTemporary(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'sublet-routing-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return openSqliteStore({ path: join(folder, 'sublet.db') });
}

async function stage(
  store: Store,
  options: FaultyPortsOptions = {},
  places: Readonly<Record<string, Partial<FaultyPlace>>> = {},
): Promise<Stage> {
  const clock = new ManualClock();
  const first = new FaultyWorld(clock);
  const second = new FaultyWorld(clock);
  const all = { first: { world: first, ...places['first'] }, second: { world: second, ...places['second'] } };
  const make = (other: FaultyPortsOptions): FaultyPorts =>
    createFaultyPorts(new FaultyWorld(clock), store, { ...other, places: all });
  const ports = make(options);
  const opened: Manager[] = [];
  const openManager = async (over: FaultyPorts): Promise<Manager> => {
    const manager = await createManager(over);
    opened.push(manager);
    return manager;
  };
  cleanups.push(async () => {
    const closing = Promise.race([
      Promise.all(opened.map((each) => each.close())),
      new Promise((resolve) => clock.schedule(2 * MINUTE, () => resolve(undefined))),
    ]);
    await clock.advance(3 * MINUTE);
    await closing;
    await store.close();
  });
  const manager = await openManager(ports);
  return { clock, store, first, second, ports, manager, another: (other = options) => openManager(make(other)) };
}

async function rejection(promise: Promise<unknown>): Promise<SubletError> {
  return promise.then(
    () => expect.unreachable(),
    (cause: unknown) => cause as SubletError,
  );
}
