/** Sessions: one key, one sandbox, and honesty about what became of it. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SubletError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import type { FaultyPorts, FaultyPortsOptions } from '../testing/index.ts';
import { FaultyWorld, ManualClock, createFaultyPorts, settle } from '../testing/index.ts';
import type { Manager } from './create-manager.ts';
import { createManager } from './create-manager.ts';

const KEY = { user: 'ada', task: 'thesis' };
const opened: Manager[] = [];
const stages: Stage[] = [];

interface Process {
  readonly manager: Manager;
  readonly ports: FaultyPorts;
}

class Stage {
  readonly clock = new ManualClock();
  readonly world = new FaultyWorld(this.clock);
  readonly store: Store = createMemoryStore();

  constructor() {
    stages.push(this);
  }

  /** Another process over the same store and the same cloud. */
  async process(options: FaultyPortsOptions = {}): Promise<Process> {
    const ports = createFaultyPorts(this.world, this.store, options);
    const manager = await createManager(ports);
    opened.push(manager);
    return { manager, ports };
  }
}

afterEach(async () => {
  const closing = Promise.all(opened.splice(0).map((manager) => manager.close()));
  // What is stuck for ever lets go only when the deadline passes.
  for (const { clock } of stages.splice(0)) await clock.advance(60_000);
  await closing;
});

describe('first use', () => {
  it('makes one sandbox however many ask at once', async () => {
    const { world, manager } = await alone();
    const sessions = await Promise.all(Array.from({ length: 1000 }, () => manager.session(KEY)));
    expect(world.calls.create).toBe(1);
    expect(new Set(sessions.map((session) => session.sandboxId)).size).toBe(1);
    expect(sessions.filter((session) => session.created)).toHaveLength(1);
  });

  it('makes one sandbox when several processes ask at once', async () => {
    const stage = new Stage();
    stage.world.plan('create', { type: 'slow', ms: 500 });
    const processes = await Promise.all([1, 2, 3, 4].map(() => stage.process()));
    const asked = Promise.all(processes.flatMap(({ manager }) => [manager.session(KEY), manager.session(KEY)]));
    await stage.clock.advance(2_000);
    const sessions = await asked;
    expect(stage.world.calls.create).toBe(1);
    expect(new Set(sessions.map((session) => session.sandboxId)).size).toBe(1);
    expect(sessions.filter((session) => session.created)).toHaveLength(1);
  });

  it('blocks only its own key while it is slow', async () => {
    const { world, clock, manager } = await alone();
    world.plan('create', { type: 'slow', ms: 60_000 });
    const slow = manager.session(KEY);
    await settle();
    const other = await manager.session({ user: 'ada', task: 'other' });
    expect(other.created).toBe(true);
    await clock.advance(60_000);
    expect((await slow).created).toBe(true);
  });

  it('labels the sandbox without the words of the key', async () => {
    const { world, manager } = await alone();
    const session = await manager.session(KEY);
    const labels = world.boxes[0]?.labels ?? {};
    expect(labels['sublet.sandbox']).toBe(session.sandboxId);
    expect(labels['sublet.key-hash']).toMatch(/^[0-9a-f]{32}$/);
    expect(JSON.stringify(labels)).not.toContain('ada');
  });

  it('leaves nothing when the provider refuses, and the next use starts afresh', async () => {
    const { world, store, manager } = await alone();
    world.plan('create', { type: 'refused' });
    await expect(manager.session(KEY)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect(world.boxes).toHaveLength(0);
    expect(await store.getSession('execution:ada:thesis')).toBeUndefined();
    const session = await manager.session(KEY);
    expect(session.notices).toEqual([]);
  });

  it('leaves nothing when the answer to a create is lost', async () => {
    const { world, manager } = await alone();
    world.plan('create', { type: 'lost-answer' });
    await expect(manager.session(KEY)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect(world.boxes).toHaveLength(0);
  });

  it('leaves nothing when its caller aborts', async () => {
    const { world, store, manager } = await alone();
    world.plan('create', { type: 'slow', ms: 60_000 });
    const abort = new AbortController();
    const asked = manager.session({ ...KEY, signal: abort.signal });
    const refused = expect(asked).rejects.toMatchObject({ code: 'ABORTED' });
    await settle();
    abort.abort();
    await refused;
    expect(world.boxes).toHaveLength(0);
    expect(await store.findSandboxes({ states: ['creating', 'running', 'destroying'] })).toEqual([]);
  });

  it('goes on for the others when one of its callers aborts', async () => {
    const { world, clock, manager } = await alone();
    world.plan('create', { type: 'slow', ms: 1_000 });
    const abort = new AbortController();
    const impatient = manager.session({ ...KEY, signal: abort.signal });
    const refused = expect(impatient).rejects.toMatchObject({ code: 'ABORTED' });
    const patient = manager.session(KEY);
    await settle();
    abort.abort();
    await refused;
    await clock.advance(1_000);
    expect((await patient).sandboxId).toMatch(/^sbx_/);
    expect(world.boxes).toHaveLength(1);
  });

  it('says what was waited for when it takes too long, and undoes what is finished later', async () => {
    const { world, clock, manager } = await alone({ policy: { timeoutSeconds: 30 } });
    world.plan('create', { type: 'crash' });
    const asked = expect(manager.session(KEY)).rejects.toMatchObject({
      code: 'CREATE_TIMEOUT',
      message: expect.stringContaining('within 30 s'),
    });
    await clock.advance(40_000);
    await asked;
    // The create never answers, so the sweep has to remove what it made.
    await clock.advance(120_000);
    expect(world.boxes).toHaveLength(0);
  });

  it('is taken over by exactly one process when its maker died', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    stage.world.plan('create', { type: 'crash' });
    void dead.manager.session(KEY).catch(() => {});
    await settle();
    const row = (await stage.store.getSession('execution:ada:thesis'))?.sandbox;
    expect(row?.state).toBe('creating');
    const others = await Promise.all([stage.process(), stage.process()]);
    const asked = Promise.all(others.map(({ manager }) => manager.session(KEY)));
    await stage.clock.advance(200_000);
    const sessions = await asked;
    expect(new Set(sessions.map((session) => session.sandboxId)).size).toBe(1);
    expect(sessions[0]?.sandboxId).not.toBe(row?.id);
    expect(stage.world.boxes.map((box) => box.labels['sublet.sandbox'])).toEqual([sessions[0]?.sandboxId]);
  });

  it('refuses what the provider cannot do before there is a row', async () => {
    const { store, manager } = await alone({ capabilities: ['network-open'] });
    await expect(manager.session({ ...KEY, network: 'none' })).rejects.toMatchObject({
      code: 'NETWORK_NOT_ENFORCEABLE',
    });
    await expect(manager.session({ ...KEY, contextId: 'v' })).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    await expect(manager.session({ ...KEY, limits: { pids: 5 } })).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    expect(await store.findSandboxes({})).toEqual([]);
  });
});

describe('a later use', () => {
  it('gives the same sandbox without asking the provider or writing', async () => {
    const { world, store, manager } = await alone();
    const first = await manager.session(KEY);
    const before = { ...world.calls };
    const version = (await store.getSandbox(first.sandboxId))?.version;
    const again = await manager.session(KEY);
    expect(again.sandboxId).toBe(first.sandboxId);
    expect(again.created).toBe(false);
    expect(world.calls).toEqual(before);
    expect((await store.getSandbox(first.sandboxId))?.version).toBe(version);
  });

  it('asks the sandbox for a sign of life when the last is 30 seconds old', async () => {
    const { world, clock, manager } = await alone();
    await manager.session(KEY);
    await clock.advance(29_000);
    await manager.session(KEY);
    expect(world.calls.command).toBe(0);
    await clock.advance(1_000);
    await manager.session(KEY);
    expect(world.calls.command).toBe(1);
  });

  it('finds the sandbox of another process and passes the variables again', async () => {
    const stage = new Stage();
    const [a, b] = [await stage.process(), await stage.process()];
    const made = await a.manager.session(KEY);
    await made.files.write('note.txt', 'kept');
    const found = await b.manager.session({ ...KEY, env: { TOKEN: 'secret' } });
    expect(found.sandboxId).toBe(made.sandboxId);
    expect(await found.files.readText('note.txt')).toBe('kept');
    expect((await found.commands.run('printenv TOKEN')).stdout).toBe('secret\n');
    expect((await made.commands.run('printenv TOKEN')).exitCode).toBe(1);
  });

  it('never has a variable in the store', async () => {
    const { store, manager } = await alone();
    await manager.session({ ...KEY, env: { TOKEN: 'secret-value' } });
    const everything = JSON.stringify([
      await store.listSessions(),
      await store.findSandboxes({}),
      await store.listEvents({}),
    ]);
    expect(everything).not.toContain('secret-value');
  });

  it('refuses another profile or image than the session has', async () => {
    const { manager } = await alone();
    await manager.session({ ...KEY, image: 'a' });
    await expect(manager.session({ ...KEY, sandbox: 'other' })).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    await expect(manager.session({ ...KEY, image: 'b' })).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    expect((await manager.session({ ...KEY, sandbox: 'default', image: 'a' })).created).toBe(false);
  });

  it('resumes a paused and starts a stopped sandbox', async () => {
    const { world, manager } = await alone();
    const { sandboxId } = await manager.session(KEY);
    for (const rest of ['pause', 'stop'] as const) {
      await manager.sandboxes[rest](sandboxId);
      const session = await manager.session(KEY);
      expect(session.sandboxId).toBe(sandboxId);
      expect((await session.commands.run('echo hi')).stdout).toBe('hi\n');
      expect(world.boxes[0]?.state).toBe('running');
    }
    const types = (await manager.events()).map((event) => event.type);
    expect(types).toEqual(
      expect.arrayContaining(['sandbox.paused', 'sandbox.resumed', 'sandbox.stopped', 'sandbox.started']),
    );
  });

  it('wakes under a handle that was held while its sandbox was paused', async () => {
    const { manager } = await alone();
    const session = await manager.session(KEY);
    await manager.sandboxes.pause(session.sandboxId);
    expect((await session.commands.run('echo awake')).stdout).toBe('awake\n');
  });
});

describe('a lost sandbox', () => {
  it('is replaced, with a notice of what is gone', async () => {
    const { world, manager } = await alone();
    const { sandboxId } = await manager.session(KEY);
    world.lose(world.boxes[0]?.name ?? '');
    const old = await manager.session(KEY);
    await expect(old.commands.run('true')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    const session = await manager.session(KEY);
    expect(session.created).toBe(true);
    expect(session.notices).toEqual([expect.objectContaining({ type: 'replaced', lostSandboxId: sandboxId })]);
    expect((await manager.metrics()).total.healthCheckFailures).toBe(1);
    expect((await manager.events()).map((event) => event.type)).toEqual(
      expect.arrayContaining(['health.failed', 'sandbox.lost', 'session.replaced']),
    );
    await expect(old.commands.run('true')).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('is told once with onLost fail, and then the key starts afresh with a notice', async () => {
    const { world, clock, manager } = await alone({ policy: { onLost: 'fail' } });
    const { sandboxId } = await manager.session(KEY);
    world.lose(world.boxes[0]?.name ?? '');
    await clock.advance(31_000);
    await expect(manager.session(KEY)).rejects.toMatchObject({ code: 'SANDBOX_LOST', details: { sandboxId } });
    const session = await manager.session(KEY);
    expect(session.created).toBe(true);
    expect(session.notices).toMatchObject([{ type: 'replaced', lostSandboxId: sandboxId }]);
  });

  it('says that there is nothing to restore from with onLost restore', async () => {
    const { world, clock, manager } = await alone({ policy: { onLost: 'restore' } });
    await manager.session(KEY);
    world.lose(world.boxes[0]?.name ?? '');
    await clock.advance(31_000);
    expect((await manager.session(KEY)).notices[0]?.message).toContain('no snapshot to restore');
  });

  it('is not assumed when the provider does not answer', async () => {
    const { world, clock, manager } = await alone();
    const { sandboxId } = await manager.session(KEY);
    await clock.advance(31_000);
    world.plan('command', { type: 'refused' });
    world.plan('attach', { type: 'refused' });
    await expect(manager.session(KEY)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect((await manager.session(KEY)).sandboxId).toBe(sandboxId);
  });

  it('leaves nothing at a provider that was wrong about it', async () => {
    const { world, clock, manager } = await alone();
    await manager.session(KEY);
    await clock.advance(31_000);
    world.plan('command', { type: 'phantom-not-found' });
    world.plan('attach', { type: 'phantom-not-found' });
    const session = await manager.session(KEY);
    await settle();
    expect(world.boxes.map((box) => box.labels['sublet.sandbox'])).toEqual([session.sandboxId]);
  });

  it('is replaced once by two processes that find out at the same time', async () => {
    const stage = new Stage();
    const [a, b] = [await stage.process(), await stage.process()];
    await a.manager.session(KEY);
    await b.manager.session(KEY);
    stage.world.lose(stage.world.boxes[0]?.name ?? '');
    await stage.clock.advance(31_000);
    const asked = Promise.all([a.manager.session(KEY), b.manager.session(KEY)]);
    await stage.clock.advance(1_000);
    const [first, second] = await asked;
    expect(first.sandboxId).toBe(second.sandboxId);
    expect(stage.world.calls.create).toBe(2);
    expect(stage.world.boxes).toHaveLength(1);
  });

  it('that was destroyed by hand is replaced with a notice too', async () => {
    const { manager } = await alone();
    const { sandboxId } = await manager.session(KEY);
    await manager.sandboxes.destroy(sandboxId);
    const session = await manager.session(KEY);
    expect(session.created).toBe(true);
    expect(session.notices).toMatchObject([
      { type: 'replaced', lostSandboxId: sandboxId, message: expect.stringContaining('asked by hand') },
    ]);
  });
});

describe('the network', () => {
  it('is cut live, for good, and on record', async () => {
    const { world, store, manager } = await alone();
    const session = await manager.session(KEY);
    await session.commands.start('sleep 1000');
    await session.markPrivate('customer data read');
    expect(session.network).toBe('none');
    expect(world.boxes[0]?.network).toBe('none');
    expect((await session.commands.list())[0]?.running).toBe(true);
    expect((await store.getSession(session.key))?.session).toMatchObject({
      network: 'none',
      privateReason: 'customer data read',
    });
    await session.markPrivate('again');
    await expect(session.setNetwork('open', 'please')).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
    const later = await manager.session({ ...KEY, network: 'open' });
    expect(later.network).toBe('none');
    expect(later.notices).toMatchObject([{ type: 'network-tightened', level: 'none' }]);
  });

  it('stays cut for the sandbox that replaces a lost or destroyed one', async () => {
    const { world, manager } = await alone();
    const session = await manager.session(KEY);
    await session.markPrivate('customer data read');
    await manager.sandboxes.destroy(session.sandboxId);
    expect((await manager.session({ ...KEY, network: 'open' })).network).toBe('none');
    expect(world.boxes[0]?.network).toBe('none');
  });

  it('is tightened when a later use asks for it', async () => {
    const { world, manager } = await alone();
    await manager.session(KEY);
    expect((await manager.session({ ...KEY, network: 'none' })).network).toBe('none');
    expect(world.boxes[0]?.network).toBe('none');
  });

  it('is cut by a new sandbox with the same workspace where it cannot be cut live', async () => {
    const { world, manager } = await alone({ capabilities: ['network-open', 'network-none', 'pause'] });
    const session = await manager.session(KEY);
    const old = session.sandboxId;
    await session.files.write('a/b.txt', 'kept', { mode: 0o600 });
    await session.commands.start('sleep 1000');
    await session.markPrivate('customer data read');
    expect(session.sandboxId).not.toBe(old);
    expect(session.notices.map((notice) => notice.type)).toEqual(['network-tightened', 'replaced']);
    expect(await session.files.readText('a/b.txt')).toBe('kept');
    expect((await session.files.stat('a/b.txt')).mode).toBe(0o600);
    expect((await session.commands.run('connect')).exitCode).toBe(1);
    expect(world.boxes.map((box) => box.network)).toEqual(['none']);
    expect((await manager.session(KEY)).sandboxId).toBe(session.sandboxId);
  });

  it('is never left open: a sandbox that cannot be cut is paused', async () => {
    const { world, manager } = await alone({ capabilities: ['network-open', 'pause'] });
    const session = await manager.session(KEY);
    await expect(session.markPrivate('secret')).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
    expect(world.boxes.map((box) => box.state)).toEqual(['paused']);
    await expect(manager.session(KEY)).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
    expect(world.boxes.map((box) => box.state)).toEqual(['paused']);
  });

  it('is never left open: a sandbox that cannot even be paused is destroyed', async () => {
    const { world, manager } = await alone({ capabilities: ['network-open'] });
    const session = await manager.session(KEY);
    await expect(session.markPrivate('secret')).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
    expect(world.boxes).toEqual([]);
  });

  it('is put to rest later when neither the provider nor the store can do it at once', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const session = await manager.session(KEY);
    stage.world.plan('setNetwork', { type: 'refused' });
    const moving = vi.spyOn(stage.store, 'moveSandbox').mockRejectedValue(new SubletError('STORE_BUSY', 'Locked.'));
    await expect(session.markPrivate('secret')).rejects.toThrow(/it is running on now/);
    moving.mockRestore();
    expect(stage.world.boxes.map((box) => box.state)).toEqual(['running']);
    await manager.sweep();
    expect(stage.world.boxes.map((box) => box.state)).toEqual(['paused']);
  });

  it('is cut at once also when another process has replaced the sandbox', async () => {
    const stage = new Stage();
    const [a, b] = [await stage.process(), await stage.process()];
    const held = await a.manager.session(KEY);
    await b.manager.sandboxes.destroy(held.sandboxId);
    const { sandboxId } = await b.manager.session(KEY);
    await held.markPrivate('customer data read');
    expect(stage.world.boxes.map((box) => [box.labels['sublet.sandbox'], box.network])).toEqual([[sandboxId, 'none']]);
  });

  it('that fails to be cut live leaves the sandbox paused, and the next use cuts it', async () => {
    const { world, manager } = await alone();
    const session = await manager.session(KEY);
    world.plan('setNetwork', { type: 'refused' });
    await expect(session.markPrivate('secret')).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
    expect(world.boxes.map((box) => box.state)).toEqual(['paused']);
    const again = await manager.session(KEY);
    expect(again.sandboxId).toBe(session.sandboxId);
    expect(world.boxes.map((box) => [box.state, box.network])).toEqual([['running', 'none']]);
  });

  it('that another process cut is cut here too before the sandbox is handed out', async () => {
    const stage = new Stage();
    const [a, b] = [await stage.process(), await stage.process()];
    const here = await a.manager.session(KEY);
    await b.manager.session(KEY);
    // The record without the deed: what a crash between the two leaves.
    await stage.store.tightenSession(here.key, 'none', 'crashed in between', stage.clock.now());
    expect(stage.world.boxes[0]?.network).toBe('open');
    expect((await b.manager.session(KEY)).network).toBe('none');
    expect(stage.world.boxes[0]?.network).toBe('none');
  });
});

describe('a handle', () => {
  it('given to an agent has no way to manage the sandbox', async () => {
    const { manager } = await alone();
    const { agent } = await manager.session(KEY);
    expect(Object.keys(agent).toSorted()).toEqual(['commands', 'files', 'runCode', 'sandboxId', 'shell']);
    expect(Object.isFrozen(agent)).toBe(true);
    expect(Object.isFrozen(agent.commands)).toBe(true);
    expect(Object.isFrozen(agent.files)).toBe(true);
  });

  it('refuses to work once released, and releasing twice is harmless', async () => {
    const { world, manager } = await alone();
    const session = await manager.session(KEY);
    await session.release();
    await session.release();
    await expect(session.commands.run('true')).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(session.agent.files.read('a')).rejects.toMatchObject({ code: 'CLOSED' });
    expect(world.boxes).toHaveLength(1);
  });

  it('passes the errors of the provider unchanged', async () => {
    const { manager } = await alone();
    const session = await manager.session(KEY);
    const error = await session.files.read('missing').catch((cause: unknown) => cause);
    expect(SubletError.is(error, 'FILE_NOT_FOUND')).toBe(true);
  });
});

async function alone(options: FaultyPortsOptions = {}): Promise<Stage & Process> {
  const stage = new Stage();
  return Object.assign(stage, await stage.process(options));
}
