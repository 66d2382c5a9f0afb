/** The manager as a whole: ephemeral runs, management by id, expiry, counting and leaving. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createMemoryStore } from '../stores/memory/index.ts';
import type { FaultyPorts, FaultyPortsOptions } from '../testing/index.ts';
import { FaultyWorld, ManualClock, createFaultyPorts, settle } from '../testing/index.ts';
import type { Manager } from './create-manager.ts';
import { createManager } from './create-manager.ts';
import type { ManagerOptions } from './manager-options.ts';

const KEY = { user: 'ada', task: 'thesis' };
const MINUTE = 60_000;

interface Stage {
  readonly clock: ManualClock;
  readonly world: FaultyWorld;
  readonly store: ReturnType<typeof createMemoryStore>;
  readonly ports: FaultyPorts;
  readonly manager: Manager;
  /** Another process over the same store and the same cloud. */
  readonly another: (options?: FaultyPortsOptions) => Promise<Manager>;
}

const stages: Stage[] = [];

afterEach(async () => {
  for (const { manager, clock } of stages.splice(0)) {
    const closing = manager.close();
    await clock.advance(MINUTE);
    await closing;
  }
});

describe('an ephemeral run', () => {
  it('gives the result and leaves nothing', async () => {
    const { world, store, manager } = await stage();
    const result = await manager.run('cat', { stdin: 'hello', env: { A: '1' } });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'hello', timedOut: false });
    expect(world.boxes).toEqual([]);
    expect(await store.findSandboxes({ states: ['destroyed'] })).toHaveLength(1);
  });

  it('writes four times', async () => {
    const { store, manager } = await stage();
    await manager.run('true');
    const [row] = await store.findSandboxes({});
    expect(row?.version).toBe(4);
    expect((await manager.events()).map((event) => event.type)).toEqual([
      'sandbox.creating',
      'sandbox.running',
      'sandbox.destroying',
      'sandbox.destroyed',
    ]);
  });

  it('tells the provider that one command is all, and its caller when that begins', async () => {
    const { world, manager } = await stage();
    let id: string | undefined;
    let expectsOne: boolean | undefined;
    await manager.run('true', {
      onStart: (sandboxId) => {
        id = sandboxId;
        expectsOne = world.boxes[0]?.spec.expectsOneCommand;
      },
    });
    expect((await manager.events()).map((event) => event.sandboxId)).toEqual([id, id, id, id]);
    expect(expectsOne).toBe(true);
    await manager.ephemeral({}, async () => expect(world.boxes[0]?.spec.expectsOneCommand).toBeUndefined());
  });

  it('gives a non-zero exit as a result and a time-out as timedOut', async () => {
    const { world, clock, manager } = await stage();
    expect((await manager.run('exit 3')).exitCode).toBe(3);
    const slow = manager.run('sleep 100', { timeoutMs: 1_000 });
    await clock.advance(1_000);
    expect(await slow).toMatchObject({ exitCode: null, timedOut: true });
    expect(world.boxes).toEqual([]);
  });

  it('is destroyed when its body throws', async () => {
    const { world, manager } = await stage();
    const failing = manager.ephemeral({}, async (sandbox) => {
      await sandbox.files.write('a', 'b');
      throw new Error('my own');
    });
    await expect(failing).rejects.toThrow('my own');
    expect(world.boxes).toEqual([]);
  });

  it('is destroyed when its caller aborts, during the create and during the command', async () => {
    const { world, manager } = await stage();
    for (const faults of [[{ type: 'slow' as const, ms: MINUTE }], []]) {
      world.plan('create', ...faults);
      const abort = new AbortController();
      const running = expect(manager.run('sleep 1000', { signal: abort.signal })).rejects.toMatchObject({
        code: 'ABORTED',
      });
      await settle();
      abort.abort();
      await running;
      expect(world.boxes).toEqual([]);
    }
  });

  it('may be one of many that follow the same signal, without a word from Node', async () => {
    const { world, manager } = await stage();
    const warned = vi.fn();
    process.on('warning', warned);
    const abort = new AbortController();
    const running = Array.from({ length: 20 }, () => manager.run('sleep 1000', { signal: abort.signal }));
    const refused = Promise.all(running.map((each) => expect(each).rejects.toMatchObject({ code: 'ABORTED' })));
    await settle();
    abort.abort();
    await refused;
    await new Promise(setImmediate);
    process.off('warning', warned);
    expect(warned).not.toHaveBeenCalled();
    expect(world.boxes).toEqual([]);
  });

  it('is destroyed when the manager closes under it', async () => {
    const { world, store, manager } = await stage();
    const running = expect(manager.run('sleep 1000')).rejects.toMatchObject({ code: 'CLOSED' });
    await settle();
    expect(world.boxes).toHaveLength(1);
    await manager.close();
    await running;
    expect(world.boxes).toEqual([]);
    expect(await store.listOwners()).toEqual([]);
  });

  it('keeps its result when the destroy fails, which is said and tried again', async () => {
    const { world, clock, store, ports, manager } = await stage();
    world.plan('destroy', { type: 'refused' }, { type: 'rate-limited', retryAfterMs: 5 * MINUTE });
    expect((await manager.run('echo ok')).stdout).toBe('ok\n');
    expect(ports.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('not destroyed') }),
    );
    expect(await store.findSandboxes({ states: ['destroying'] })).toHaveLength(1);
    await clock.advance(2 * MINUTE);
    expect(world.boxes).toHaveLength(1);
    await clock.advance(5 * MINUTE);
    expect(world.boxes).toEqual([]);
    expect(await store.findSandboxes({ states: ['destroyed'] })).toHaveLength(1);
  });

  it('is not idle while its body thinks', async () => {
    const { world, clock, manager, another } = await stage();
    await another();
    let finish = (): void => {};
    const running = manager.ephemeral({}, () => new Promise<void>((resolve) => (finish = resolve)));
    await clock.advance(60 * MINUTE);
    expect(world.boxes).toHaveLength(1);
    finish();
    await running;
    expect(world.boxes).toEqual([]);
  });

  it('removes both when the provider makes two of one name', async () => {
    const { world, manager } = await stage();
    world.plan('create', { type: 'duplicate' });
    await manager.run('true');
    expect(world.boxes).toEqual([]);
  });
});

describe('reading', () => {
  it('writes nothing', async () => {
    const { store, manager } = await stage();
    await manager.sandboxes.list();
    await manager.events();
    await manager.metrics();
    await manager.sweep();
    await manager.close();
    expect(await store.listOwners()).toEqual([]);
    expect(await store.listEvents({})).toEqual([]);
  });
});

describe('sandboxes', () => {
  it('are found by id, unique prefix, name, key and bare task', async () => {
    const { manager } = await stage();
    const { sandboxId } = await manager.session({ task: 'notes' });
    const { name } = await manager.sandboxes.get(sandboxId);
    for (const text of [
      sandboxId,
      sandboxId.slice(0, 12),
      sandboxId.slice(4),
      name,
      'execution:anonymous:notes',
      'notes',
    ]) {
      expect((await manager.sandboxes.get(text)).id, text).toBe(sandboxId);
    }
    await expect(manager.sandboxes.get('nothing')).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  });

  it('list the candidates of a prefix that several have', async () => {
    const { manager } = await stage();
    const ids = [(await manager.session({ task: 'a' })).sandboxId, (await manager.session({ task: 'b' })).sandboxId];
    const error = await manager.sandboxes.get('sbx_').catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'SANDBOX_AMBIGUOUS', details: { candidates: expect.arrayContaining(ids) } });
    expect(String(error)).toContain(ids[0]);
  });

  it('are hidden from the list once destroyed, unless all are asked for', async () => {
    const { manager } = await stage();
    await manager.run('true');
    expect(await manager.sandboxes.list()).toEqual([]);
    expect(await manager.sandboxes.list({ all: true })).toMatchObject([{ state: 'destroyed', ephemeral: true }]);
  });

  it('pause, resume, stop and destroy, each twice without harm and with its cause', async () => {
    const { world, manager } = await stage();
    const { sandboxId } = await manager.session(KEY);
    for (const [verb, state] of [
      ['pause', 'paused'],
      ['resume', 'running'],
      ['stop', 'stopped'],
      ['resume', 'running'],
      ['destroy', 'destroyed'],
    ] as const) {
      expect((await manager.sandboxes[verb](sandboxId, `because ${verb}`)).state).toBe(state);
      expect((await manager.sandboxes[verb](sandboxId)).state).toBe(state);
    }
    expect(world.boxes).toEqual([]);
    const causes = (await manager.events({ sandboxId })).map((event) => event.cause);
    expect(causes).toEqual(
      expect.arrayContaining(['because pause', 'because resume', 'because stop', 'because destroy']),
    );
  });

  it('refuse what their provider cannot do, by name', async () => {
    const { manager } = await stage({ capabilities: ['network-open'] });
    const { sandboxId } = await manager.session(KEY);
    for (const verb of ['pause', 'stop', 'metrics'] as const) {
      await expect(manager.sandboxes[verb](sandboxId)).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        details: { provider: 'faulty', capability: verb },
      });
    }
  });

  it('are running again when the provider fails to pause them', async () => {
    const { world, manager } = await stage();
    const { sandboxId } = await manager.session(KEY);
    world.plan('pause', { type: 'refused' });
    await expect(manager.sandboxes.pause(sandboxId)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect((await manager.sandboxes.get(sandboxId)).state).toBe('running');
  });

  it.each(['pause', 'stop'] as const)('are looked at again when the answer to a %s was lost', async (verb) => {
    const { world, manager, clock } = await stage();
    const { sandboxId } = await manager.session(KEY);
    world.plan(verb, { type: 'lost-answer' });
    await expect(manager.sandboxes[verb](sandboxId)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    const using = manager.session(KEY);
    await clock.advance(10_000);
    expect((await (await using).commands.run('echo hi')).stdout).toBe('hi\n');
  });

  it('stay usable for someone who wakes them while they are being paused', async () => {
    const { world, clock, manager, another } = await stage();
    const { sandboxId } = await manager.session(KEY);
    const other = await another();
    world.plan('pause', { type: 'slow', ms: 1_000 });
    const pausing = manager.sandboxes.pause(sandboxId);
    await settle();
    const session = await other.session(KEY);
    await clock.advance(1_000);
    await pausing;
    expect((await session.commands.run('echo works')).stdout).toBe('works\n');
    expect(world.boxes[0]?.state).toBe('running');
  });

  it('open for an agent, waking first', async () => {
    const { manager } = await stage();
    const { sandboxId } = await manager.session(KEY);
    await manager.sandboxes.pause(sandboxId);
    const agent = await manager.sandboxes.open(sandboxId);
    expect((await agent.commands.run('echo hi')).stdout).toBe('hi\n');
    expect(await manager.sandboxes.metrics(sandboxId)).toMatchObject({ processes: 1 });
  });

  it('are all destroyed at once, and their keys remember', async () => {
    const { world, manager } = await stage();
    await manager.session({ task: 'a' });
    await manager.session({ task: 'b' });
    expect(await manager.destroyAllSessions('cleaning up')).toBe(2);
    expect(world.boxes).toEqual([]);
    expect(await manager.destroyAllSessions()).toBe(0);
    expect((await manager.session({ task: 'a' })).notices).toMatchObject([
      { type: 'replaced', message: expect.stringContaining('cleaning up') },
    ]);
  });
});

describe('expiry', () => {
  it('destroys what is idle and leaves what is not', async () => {
    const { world, clock, manager } = await stage();
    const idle = await manager.session({ task: 'idle' });
    const used = await manager.session({ task: 'used' });
    await clock.advance(6 * MINUTE);
    await used.commands.run('true');
    await clock.advance(5 * MINUTE);
    expect(world.boxes.map((box) => box.labels['sublet.sandbox'])).toEqual([used.sandboxId]);
    expect((await manager.sandboxes.get(idle.sandboxId)).cause).toBe('idle for 10 minutes');
  });

  it('never takes a running command for idleness, in this process or another', async () => {
    const { world, clock, manager, another } = await stage();
    await another();
    const session = await manager.session(KEY);
    const long = session.commands.run('sleep 3600');
    await clock.advance(59 * MINUTE);
    expect(world.boxes).toHaveLength(1);
    await clock.advance(2 * MINUTE);
    expect((await long).exitCode).toBe(0);
    await clock.advance(12 * MINUTE);
    expect(world.boxes).toEqual([]);
  });

  it('asks the sandbox for background commands that nobody here knows of', async () => {
    const { world, clock, store, manager, another } = await stage({ policy: { onExit: 'keep' } });
    const session = await manager.session(KEY);
    await session.commands.start('sleep 3600');
    await manager.close();
    const sweeper = await another();
    await clock.advance(30 * MINUTE);
    expect(world.boxes).toHaveLength(1);
    await clock.advance(60 * MINUTE);
    expect(world.boxes).toEqual([]);
    expect(await store.findSandboxes({ states: ['running', 'destroying'] })).toEqual([]);
    await sweeper.close();
  });

  it('destroys at the hard deadline, busy or not, in any state', async () => {
    const { world, clock, manager } = await stage({ policy: { autoDeleteMinutes: 30, autoStopMinutes: 0 } });
    const busy = await manager.session({ task: 'busy' });
    const asleep = await manager.session({ task: 'asleep' });
    await manager.sandboxes.pause(asleep.sandboxId);
    const long = busy.commands.start('sleep 36000');
    await long;
    await clock.advance(29 * MINUTE);
    expect(world.boxes).toHaveLength(2);
    await clock.advance(2 * MINUTE);
    expect(world.boxes).toEqual([]);
  });

  it('acts once when two sweep at the same time', async () => {
    const { world, clock, manager, another } = await stage({ policy: { idleAction: 'pause' } }, { sweepIntervalMs: 0 });
    const other = await another();
    await manager.session(KEY);
    await clock.advance(11 * MINUTE);
    const sweeping = Promise.all([manager.sweep(), other.sweep()]);
    await clock.advance(10_000);
    const reports = await sweeping;
    expect(reports.flatMap((report) => report.actions).filter(({ action }) => action === 'pause')).toHaveLength(1);
    expect(world.calls.pause).toBe(1);
    expect((await manager.sweep()).examined).toBe(0);
  });

  it.each([
    ['pause', ['network-open', 'pause', 'stop'], 'pause', 'paused'],
    ['pause', ['network-open', 'stop'], 'stop', 'stopped'],
    ['pause', ['network-open'], 'keep', 'running'],
    ['stop', ['network-open', 'pause'], 'keep', 'running'],
  ] as const)('with idleAction %s and %j does: %s', async (idleAction, capabilities, action, state) => {
    const { world, clock, manager } = await stage({ policy: { idleAction }, capabilities }, { sweepIntervalMs: 0 });
    await manager.session(KEY);
    await clock.advance(11 * MINUTE);
    expect((await manager.sweep()).actions).toMatchObject([{ action }]);
    expect(world.boxes.map((box) => box.state)).toEqual([state]);
    expect((await manager.sweep()).examined).toBe(0);
  });

  it('reports what failed and tries again later', async () => {
    const { world, clock, manager } = await stage({ policy: { idleAction: 'pause' } }, { sweepIntervalMs: 0 });
    await manager.session(KEY);
    await clock.advance(11 * MINUTE);
    world.plan('pause', { type: 'refused' });
    expect((await manager.sweep()).actions).toMatchObject([
      { action: 'retry-later', error: expect.stringContaining('PROVIDER_UNAVAILABLE') },
    ]);
    await clock.advance(12 * MINUTE);
    expect((await manager.sweep()).actions).toMatchObject([{ action: 'pause' }]);
  });

  it('marks what the provider has lost', async () => {
    const { world, clock, manager, another } = await stage({ policy: { onExit: 'keep' } });
    const { sandboxId } = await manager.session(KEY);
    await manager.close();
    world.lose(world.boxes[0]?.name ?? '');
    const sweeper = await another();
    await clock.advance(11 * MINUTE);
    expect((await sweeper.sandboxes.get(sandboxId)).state).toBe('lost');
    await sweeper.close();
  });

  it('looks only at what is due', async () => {
    const { clock, manager } = await stage({}, { sweepIntervalMs: 0 });
    for (let n = 0; n < 20; n++)
      await manager.session({ task: `t${n}`, policy: { autoStopMinutes: n === 7 ? 1 : 600 } });
    await clock.advance(2 * MINUTE);
    expect(await manager.sweep()).toMatchObject({ examined: 1, actions: [{ action: 'destroy' }] });
  });
});

describe('activity', () => {
  it('is written in one batch for all sandboxes, not for each use', async () => {
    const { clock, store, manager } = await stage();
    const sessions = await Promise.all(['a', 'b'].map((task) => manager.session({ task })));
    await clock.advance(14_000);
    for (const session of sessions) for (let n = 0; n < 5; n++) await session.commands.run('true');
    const before = await Promise.all(sessions.map((session) => store.getSandbox(session.sandboxId)));
    expect(before.map((row) => row?.version)).toEqual([2, 2]);
    await clock.advance(1_000);
    const after = await Promise.all(sessions.map((session) => store.getSandbox(session.sandboxId)));
    expect(after.map((row) => row?.version)).toEqual([3, 3]);
    expect(after[0]?.lastActiveAt).toBe(clock.now() - 1_000);
  });

  it('that could not be made counts neither as made nor as cleaned', async () => {
    const { world, manager } = await stage();
    world.plan('create', { type: 'refused' });
    await expect(manager.run('true')).rejects.toThrow();
    await manager.run('true');
    expect((await manager.metrics()).total).toMatchObject({ created: 1, cleaned: 1 });
  });

  it('is counted by kind and in total, also by processes that have gone', async () => {
    const { manager, another } = await stage();
    await manager.session({ task: 'a' });
    await manager.session({ task: 'a' });
    await manager.session({ kind: 'app', task: 'a' });
    await manager.run('true');
    const expected = {
      kinds: {
        execution: { active: 1, created: 2, cleaned: 1, reused: 1, healthCheckFailures: 0 },
        app: { active: 1, created: 1, cleaned: 0, reused: 0, healthCheckFailures: 0 },
        desktop: { active: 0, created: 0, cleaned: 0, reused: 0, healthCheckFailures: 0 },
      },
      total: { active: 2, created: 3, cleaned: 1, reused: 1, healthCheckFailures: 0 },
    };
    expect(await manager.metrics()).toEqual(expected);
    await manager.close();
    const other = await another();
    expect(await other.metrics()).toEqual(expected);
    await other.close();
  });
});

describe('leaving', () => {
  it.each([
    ['pause', ['network-open', 'pause'], 'paused'],
    ['pause', ['network-open', 'stop'], 'stopped'],
    ['pause', ['network-open'], 'running'],
    ['keep', ['network-open', 'pause'], 'running'],
    ['destroy', ['network-open', 'pause'], undefined],
  ] as const)('with onExit %s and %j leaves the sandbox %s', async (onExit, capabilities, state) => {
    const { world, store, ports, manager } = await stage({ policy: { onExit }, capabilities });
    await manager.session(KEY);
    await manager.close();
    expect(world.boxes.map((box) => box.state)).toEqual(state === undefined ? [] : [state]);
    expect(await store.listOwners()).toEqual([]);
    const isSaid = ports.lines.some(({ level, message }) => level === 'warn' && message.includes('kept running'));
    expect(isSaid).toBe(onExit === 'pause' && state === 'running');
  });

  it('leaves alone what another process has picked up since', async () => {
    const { world, manager, another } = await stage();
    await manager.session(KEY);
    const other = await another();
    const session = await other.session(KEY);
    await manager.close();
    expect(world.boxes[0]?.state).toBe('running');
    expect((await session.commands.run('echo on')).stdout).toBe('on\n');
    await other.close();
    expect(world.boxes[0]?.state).toBe('paused');
  });

  it('is over at the deadline, with what is left in the log', async () => {
    const { world, clock, ports, manager } = await stage();
    const { sandboxId } = await manager.session(KEY);
    world.plan('pause', { type: 'stuck' });
    const closing = manager.close();
    await clock.advance(10_000);
    await closing;
    expect(ports.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ left: [sandboxId] }) }),
    );
  });

  it('undoes what is being made', async () => {
    const { world, manager } = await stage();
    world.plan('create', { type: 'slow', ms: MINUTE });
    const asked = expect(manager.session(KEY)).rejects.toMatchObject({ code: 'CLOSED' });
    await settle();
    await manager.close();
    await asked;
    expect(world.boxes).toEqual([]);
  });

  it('happens once, leaves no timer, and refuses what comes after', async () => {
    const { clock, manager } = await stage();
    await manager.session(KEY);
    await Promise.all([manager.close(), manager.close()]);
    expect(clock.pending).toBe(0);
    await expect(manager.session(KEY)).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(manager.run('true')).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

async function stage(options: FaultyPortsOptions = {}, managerOptions: ManagerOptions = {}): Promise<Stage> {
  const clock = new ManualClock();
  const world = new FaultyWorld(clock);
  const store = createMemoryStore();
  const ports = createFaultyPorts(world, store, options);
  const manager = await createManager(ports, managerOptions);
  const another = (other: FaultyPortsOptions = options): Promise<Manager> =>
    createManager(createFaultyPorts(world, store, other), managerOptions);
  const made = { clock, world, store, ports, manager, another };
  stages.push(made);
  return made;
}
