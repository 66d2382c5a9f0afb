/** How sandbox managers fail their users, each as a test that it does not happen here. */
import { describe, expect, it } from 'vitest';
import { ORPHAN_GRACE_MS } from '../src/core/recovery.ts';
import { SubletError } from '../src/core/errors.ts';
import { FaultyMachine, settle } from '../src/testing/index.ts';
import { MINUTE, SECOND, Stage } from './setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };
const forever = (): Promise<never> => new Promise(() => {});

describe('a crashed owner leaves its containers behind, known only to its memory', () => {
  it('the next process finds all of them by the record, whatever state they were in', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    const kept = await dead.manager.session(KEY);
    await dead.manager.sandboxes.pause((await dead.manager.session({ ...KEY, task: 'paused' })).sandboxId);
    void dead.manager.ephemeral({}, forever);
    await settle();
    stage.world.plan('create', { type: 'crash' });
    void dead.manager.ephemeral({}, forever);
    await settle();
    expect(stage.world.boxes).toHaveLength(4);
    dead.kill();
    const { manager } = await stage.process();
    await manager.sweep();
    expect(stage.world.boxes.map((box) => box.state)).toEqual(['paused', 'paused']);
    expect((await manager.session(KEY)).sandboxId).toBe(kept.sandboxId);
  });

  it('a process that was given the dead owner’s pid does not pass for it', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    void dead.manager.ephemeral({}, forever);
    await settle();
    dead.kill();
    const { manager } = await stage.process({ process: stage.machine.start(dead.ports.identity.pid) });
    await manager.sweep();
    expect(stage.world.boxes).toEqual([]);
  });
});

describe('a reaper that goes by the record does not see what the record has lost', () => {
  it('what the provider still has is found by its label, and destroyed', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const { sandboxId } = await manager.session(KEY);
    stage.world.plan('destroy', { type: 'phantom-not-found' });
    await manager.sandboxes.destroy(sandboxId);
    await stage.store.removeSession('execution:ada:thesis', sandboxId, 'lost', 0);
    await stage.store.pruneSandboxes(Infinity);
    expect(await stage.store.getSandbox(sandboxId)).toBeUndefined();
    expect(stage.world.boxes).toHaveLength(1);
    await stage.clock.advance(15 * MINUTE);
    expect(stage.world.boxes).toEqual([]);
  });

  it('a destroy that never reached the provider is repeated, also by another process', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    const { sandboxId } = await dead.manager.session(KEY);
    stage.world.plan('destroy', { type: 'stuck' });
    void dead.manager.sandboxes.destroy(sandboxId);
    await settle();
    dead.kill();
    await (await stage.process()).manager.sweep();
    expect(stage.world.boxes).toEqual([]);
  });
});

describe('a sweep kills the live sandbox of a sibling', () => {
  it('what a process has that lives or may live is not touched, here or on another machine', async () => {
    const stage = new Stage();
    const siblings = [await stage.process(), await stage.process({ machine: new FaultyMachine('beta') })];
    for (const [index, { manager }] of siblings.entries()) {
      await manager.session({ ...KEY, task: `t${index}`, policy: { onExit: 'destroy', autoStopMinutes: 0 } });
      void manager.ephemeral({}, forever).catch(() => {});
    }
    await settle();
    const { manager } = await stage.process({ pageSize: 1 });
    for (let pass = 0; pass < 6; pass++) {
      await manager.reap();
      await stage.clock.advance(ORPHAN_GRACE_MS);
    }
    expect(stage.world.boxes.map((box) => box.state)).toEqual(['running', 'running', 'running', 'running']);
  });

  it('what is made between the provider’s list and the look at the record is no orphan', async () => {
    const stage = new Stage();
    const [reaper, maker] = [await stage.process(), await stage.process()];
    await reaper.manager.run('true');
    for (let pass = 0; pass < 3; pass++) {
      stage.world.plan('list', { type: 'slow', ms: SECOND });
      const reaping = reaper.manager.reap();
      await settle();
      await maker.manager.session({ ...KEY, task: `t${pass}` });
      await stage.passing(reaping, ORPHAN_GRACE_MS);
    }
    expect(stage.world.boxes).toHaveLength(3);
  });
});

describe('the idle reaper kills a running command', () => {
  it('a command that runs for hours is activity, in the foreground and in the background', async () => {
    const stage = new Stage();
    const { manager } = await stage.process({ policy: { autoStopMinutes: 10 } });
    await stage.process();
    const session = await manager.session(KEY);
    const other = await manager.session({ ...KEY, task: 'background' });
    await other.commands.start('sleep 14400');
    await other.release();
    expect((await stage.passing(session.commands.run('sleep 7200'), 121 * MINUTE)).exitCode).toBe(0);
    expect(stage.world.boxes).toHaveLength(2);
  });
});

describe('expiry that races with use ends a sandbox in use, or makes it immortal', () => {
  it('who uses it while it is being judged wins, and it is due again later', async () => {
    const stage = new Stage();
    const first = await stage.process({ policy: { autoStopMinutes: 10, onExit: 'keep' } });
    const { sandboxId } = await first.manager.session(KEY);
    await first.manager.close();
    const sweeper = await stage.process();
    stage.world.plan('attach', { type: 'slow', ms: 5 * SECOND });
    await stage.clock.advance(10 * MINUTE + SECOND);
    const user = await stage.process();
    const session = await user.manager.session(KEY);
    await stage.clock.advance(10 * SECOND);
    expect((await session.commands.run('echo on')).stdout).toBe('on\n');
    await session.release();
    expect((await stage.row(sandboxId)).dueAt).toBeGreaterThan(stage.clock.now());
    await user.manager.close();
    await stage.clock.advance(15 * MINUTE);
    expect((await stage.row(sandboxId)).state).toBe('destroyed');
    await sweeper.manager.close();
  });
});

describe('two requests of one conversation get two sandboxes', () => {
  it('all get the same, in one process and in several, and the losers leave nothing', async () => {
    const stage = new Stage();
    stage.world.plan('create', { type: 'slow', ms: SECOND });
    const processes = await Promise.all([1, 2, 3].map(() => stage.process()));
    const asked = processes.flatMap(({ manager }) => Array.from({ length: 5 }, () => manager.session(KEY)));
    const sessions = await stage.passing(Promise.all(asked));
    expect(new Set(sessions.map(({ sandboxId }) => sandboxId)).size).toBe(1);
    expect(stage.world.boxes).toHaveLength(1);
    expect(stage.world.calls).toMatchObject({ create: 1, destroy: 0 });
  });

  it('who gives up does not take the sandbox of those who wait', async () => {
    const stage = new Stage();
    stage.world.plan('create', { type: 'slow', ms: SECOND });
    const [mine, theirs] = [await stage.process(), await stage.process()];
    const giveUp = new AbortController();
    const impatient = mine.manager.session({ ...KEY, signal: giveUp.signal }).catch((error: unknown) => error);
    const patient = theirs.manager.session(KEY);
    await settle();
    giveUp.abort();
    const session = await stage.passing(patient);
    expect(SubletError.is(await impatient, 'ABORTED')).toBe(true);
    expect((await session.commands.run('echo on')).stdout).toBe('on\n');
    expect(stage.world.boxes).toHaveLength(1);
  });
});

describe('a create whose answer is lost leaks or is done twice', () => {
  it.each([
    ['lost', { type: 'lost-answer' }],
    ['never given', { type: 'crash' }],
    ['given too late', { type: 'slow', ms: 4 * MINUTE }],
    ['given for two', { type: 'duplicate' }],
  ] as const)('an answer that is %s leaves one sandbox or none', async (_, fault) => {
    const stage = new Stage();
    const { manager } = await stage.process({ policy: { timeoutSeconds: 60 } });
    stage.world.plan('create', fault);
    await stage.passing(
      manager.session(KEY).catch(() => undefined),
      5 * MINUTE,
    );
    const session = await manager.session(KEY);
    await stage.clock.advance(20 * SECOND);
    expect(new Set(stage.world.boxes.map((box) => box.name)).size).toBe(1);
    await manager.sandboxes.destroy(session.sandboxId);
    await stage.clock.advance(10 * MINUTE);
    expect(stage.world.boxes).toEqual([]);
  });

  it('those who wait for a maker that died take over at once, and one of them makes it', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    stage.world.plan('create', { type: 'stuck' });
    void dead.manager.session(KEY);
    await settle();
    const waiters = await Promise.all([1, 2, 3].map(() => stage.process()));
    const asked = Promise.all(waiters.map(({ manager }) => manager.session(KEY)));
    await stage.clock.advance(SECOND);
    dead.kill();
    const sessions = await stage.passing(asked, 2 * SECOND);
    expect(new Set(sessions.map(({ sandboxId }) => sandboxId)).size).toBe(1);
    expect(stage.world.calls.create).toBe(2);
    expect(stage.world.boxes).toHaveLength(1);
  });
});

describe('a failure after the create and before it is on record leaks', () => {
  it('what was made is destroyed when the record cannot be written', async () => {
    const stage = new Stage();
    let isFull = false;
    const { manager } = await stage.process({
      ports: ({ store }) => ({
        store: new Proxy(store, {
          get: (target, name) =>
            name === 'moveSandbox' && isFull
              ? () => {
                  isFull = false;
                  return Promise.reject(new SubletError('STORE_FAILED', 'disk full'));
                }
              : Reflect.get(target, name),
        }),
      }),
    });
    isFull = true;
    await expect(manager.run('true')).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(stage.world.boxes).toEqual([]);
  });

  it('what was made by a process that died before it could say so is destroyed', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    stage.world.plan('create', { type: 'slow', ms: SECOND });
    void dead.manager.session(KEY);
    await settle();
    dead.kill();
    await stage.clock.advance(SECOND);
    expect(stage.world.boxes).toHaveLength(1);
    await (await stage.process()).manager.sweep();
    expect(stage.world.boxes).toEqual([]);
  });
});

describe('a handle on what is gone is never replaced', () => {
  it.each(['SANDBOX_LOST', 'SANDBOX_NOT_FOUND', 'PROVIDER_UNAVAILABLE'] as const)(
    'a use that fails with %s makes the next ask whether it is still there',
    async (code) => {
      const stage = new Stage();
      const { manager } = await stage.process();
      const session = await manager.session(KEY);
      const box = stage.world.boxes[0]!;
      box.commands.run = () => Promise.reject(new SubletError(code, 'some wording of gone'));
      await expect(session.commands.run('true')).rejects.toMatchObject({ code });
      stage.world.lose(box.name);
      const next = await manager.session(KEY);
      expect(next.notices).toMatchObject([{ type: 'replaced', lostSandboxId: session.sandboxId }]);
      expect((await next.commands.run('echo on')).stdout).toBe('on\n');
    },
  );
});

describe('a sandbox is replaced too eagerly, and work is lost without a word', () => {
  it('one that stopped is started, with its files and a notice of what is gone', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const session = await manager.session(KEY);
    await session.files.write('work', 'hours of it');
    stage.world.setState(stage.world.boxes[0]!, 'stopped');
    await stage.clock.advance(MINUTE);
    const next = await manager.session(KEY);
    expect(next.sandboxId).toBe(session.sandboxId);
    expect(await next.files.readText('work')).toBe('hours of it');
    expect(next.notices).toMatchObject([{ type: 'restarted' }]);
  });

  it.each(['refused', 'rate-limited', 'stuck'] as const)('a provider that is %s is asked again later', async (type) => {
    const stage = new Stage();
    const { manager } = await stage.process({ policy: { autoStopMinutes: 0 } });
    const { sandboxId } = await manager.session(KEY);
    await manager.sandboxes.pause(sandboxId);
    stage.world.plan('attach', type === 'rate-limited' ? { type, retryAfterMs: SECOND } : { type });
    await expect(stage.passing(manager.session(KEY), 2 * MINUTE)).rejects.toBeInstanceOf(SubletError);
    expect((await manager.session(KEY)).sandboxId).toBe(sandboxId);
    expect(stage.world.calls).toMatchObject({ create: 1, destroy: 0 });
  });

  it('with onLost fail its user decides, and is told exactly once', async () => {
    const stage = new Stage();
    const { manager } = await stage.process({ policy: { onLost: 'fail' } });
    const { sandboxId } = await manager.session(KEY);
    stage.world.lose(stage.world.boxes[0]!.name);
    await stage.clock.advance(MINUTE);
    await expect(manager.session(KEY)).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    expect((await manager.session(KEY)).notices).toMatchObject([{ type: 'replaced', lostSandboxId: sandboxId }]);
  });
});

describe('a shutdown leaks, or deletes what users have', () => {
  it('a restart puts sessions to rest and finds them again with their files', async () => {
    const stage = new Stage();
    const first = await stage.process();
    const session = await first.manager.session(KEY);
    await session.files.write('work', 'kept');
    await first.manager.close();
    expect(stage.world.boxes.map((box) => box.state)).toEqual(['paused']);
    const again = await (await stage.process()).manager.session(KEY);
    expect(again.sandboxId).toBe(session.sandboxId);
    expect(await again.files.readText('work')).toBe('kept');
  });

  it('creates that are under way are undone before it is over', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    stage.world.plan('create', { type: 'slow', ms: MINUTE }, { type: 'lost-answer' });
    const asked = [manager.session(KEY), manager.run('true')].map((work) => work.catch(() => undefined));
    await settle();
    await manager.close();
    await Promise.all(asked);
    expect(stage.world.boxes).toEqual([]);
    expect(await stage.store.listOwners()).toEqual([]);
  });

  it('what could not be put away in time is seen to once the process is gone', async () => {
    const stage = new Stage();
    const process = stage.machine.start();
    const { manager } = await stage.process({ process });
    const { sandboxId } = await manager.session(KEY);
    stage.world.plan('pause', { type: 'stuck' });
    await stage.passing(manager.close(), 10 * SECOND);
    process.kill();
    // The record says that it rests, the provider has it running.
    expect((await stage.row(sandboxId)).state).toBe('paused');
    expect(stage.world.boxes[0]?.state).toBe('running');
    await stage.process();
    await stage.clock.advance(8 * MINUTE);
    expect(stage.world.boxes[0]?.state).toBe('paused');
  });
});
