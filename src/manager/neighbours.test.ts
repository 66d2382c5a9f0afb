/** What processes on one store do to each other when their steps interleave. */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../core/clock.ts';
import { SubletError } from '../core/errors.ts';
import type { SandboxId } from '../core/ids.ts';
import { NOBODY } from '../core/ids.ts';
import { ORPHAN_GRACE_MS } from '../core/recovery.ts';
import type { Move, Store } from '../store/store.ts';
import { MINUTE, SECOND, Stage } from '../../test/setup/stage.ts';
import type { StageOptions } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };

describe('a process that cleans up', () => {
  it('leaves alone what somebody has who came after the owners were counted', async () => {
    const stage = new Stage();
    const newcomer = await stage.process();
    const placed = await stage.process();
    await placed.manager.run('true');
    let sandboxId = '';
    const { manager } = await stage.process(
      onceAfter('listOwners', async () => {
        ({ sandboxId } = await newcomer.manager.session({ ...KEY, policy: { onExit: 'destroy' } }));
      }),
    );
    await manager.reap();
    expect(await stage.row(sandboxId)).toMatchObject({ state: 'running' });
  });

  it('destroys what a provider kept although its maker lives', async () => {
    const stage = new Stage();
    const maker = await stage.process({ manager: { reconcileIntervalMs: 0 } });
    stage.world.plan('destroy', { type: 'phantom-not-found' });
    await maker.manager.run('true');
    expect(stage.world.boxes).toHaveLength(1);
    const { manager } = await stage.process();
    await manager.reap();
    await stage.clock.advance(ORPHAN_GRACE_MS);
    await manager.reap();
    expect(stage.world.boxes).toEqual([]);
  });

  it('finds out that a sandbox is gone although its handle only fails', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const { sandboxId } = await manager.session({ ...KEY, policy: { autoStopMinutes: 1, idleAction: 'pause' } });
    stage.world.lose((await stage.row(sandboxId)).name);
    await stage.clock.advance(3 * MINUTE);
    expect((await stage.row(sandboxId)).state).toBe('lost');
  });
});

describe('a clock that is set back', () => {
  it('does not hide what is in use', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const session = await manager.session(KEY);
    const working = session.commands.run('sleep 120');
    await stage.clock.advance(30 * SECOND);
    const before = await stage.row(session.sandboxId);
    stage.clock.jump(-60 * MINUTE);
    await stage.clock.advance(30 * SECOND);
    expect((await stage.row(session.sandboxId)).lastActiveAt).toBeGreaterThan(before.lastActiveAt);
    await stage.passing(working, 2 * MINUTE);
  });
});

describe('a sandbox for one purpose', () => {
  it('follows its maker, whoever else opens it', async () => {
    const stage = new Stage();
    const [maker, guest] = [await stage.process(), await stage.process()];
    const working = maker.manager.run('sleep 60');
    await stage.clock.advance(1);
    const [{ id } = { id: '' }] = await guest.manager.sandboxes.list();
    const { ownerId } = await stage.row(id);
    await guest.manager.sandboxes.open(id);
    expect((await stage.row(id)).ownerId).toBe(ownerId);
    await stage.passing(working, 2 * MINUTE);
  });
});

describe('a process that leaves', () => {
  it('leaves a sandbox to whoever picks it up meanwhile', async () => {
    const stage = new Stage();
    const heir = await stage.process();
    let isAsked = false;
    const leaving = await stage.process(
      onceBefore('moveSandbox', async ({ to }: { readonly to: string }) => {
        if (to !== 'destroying') return false;
        isAsked = true;
        await heir.manager.session(KEY);
        return true;
      }),
    );
    const { sandboxId } = await leaving.manager.session({ ...KEY, policy: { onExit: 'destroy' } });
    await stage.passing(leaving.manager.close());
    expect(isAsked).toBe(true);
    expect((await stage.row(sandboxId)).state).toBe('running');
  });

  it('leaves a leased sandbox to its holder, and what the holder leaves is seen to', async () => {
    const stage = new Stage();
    const [leaving, holder] = [await stage.process(), await stage.process()];
    const { sandboxId } = await leaving.manager.session({ ...KEY, policy: { onExit: 'destroy' } });
    await holder.manager.lease({ sandboxId });
    await stage.passing(leaving.manager.close());
    expect((await stage.row(sandboxId)).state).toBe('running');
    holder.kill();
    await stage.process();
    await stage.clock.advance(5 * MINUTE);
    expect((await stage.row(sandboxId)).state).toBe('destroyed');
  });
});

describe('a process that does not hear that what it made is ready', () => {
  it('leaves it to those who have used it and put it to rest since', async () => {
    const stage = new Stage();
    const guest = await stage.process();
    const maker = await stage.process(
      intercepting('moveSandbox', async (perform, [id, { to }]) => {
        const moved = await perform();
        if (to !== 'running') return moved;
        await guest.manager.session(KEY);
        await guest.manager.sandboxes.stop(id);
        throw new SubletError('STORE_BUSY', 'The answer was lost.');
      }),
    );
    await expect(maker.manager.session(KEY)).rejects.toMatchObject({ code: 'STORE_BUSY' });
    await stage.clock.advance(SECOND);
    const [row] = await stage.store.findSandboxes({});
    expect(row?.state).toBe('stopped');
    expect(stage.world.boxes).toHaveLength(1);
  });
});

describe('what somebody takes for himself meanwhile', () => {
  it('is not leased over by a process whose clock is ahead', async () => {
    const stage = new Stage();
    const slow = await stage.process({
      ports: ({ clock }) => ({ clock: { ...bound(clock), now: () => clock.now() - 60 * MINUTE } }),
    });
    const { sandboxId } = await slow.manager.session(KEY);
    let isTaken = false;
    const ahead = await stage.process(
      intercepting('getSandbox', async (perform) => {
        const row = await perform();
        if (!isTaken) {
          isTaken = true;
          await slow.manager.lease({ sandboxId });
        }
        return row;
      }),
    );
    await expect(ahead.manager.lease({ sandboxId })).rejects.toMatchObject({ code: 'LEASE_HELD' });
  });

  it('is not used by who waited to be let in', async () => {
    const stage = new Stage();
    const [waiting, other] = [await stage.process(), await stage.process()];
    const session = await waiting.manager.session(KEY);
    await waiting.manager.sandboxes.stop(session.sandboxId);
    await other.manager.session(KEY);
    stage.world.plan('attach', { type: 'slow', ms: 20 * SECOND });
    const used = expect(session.commands.run('echo no')).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await stage.clock.advance(SECOND);
    await other.manager.lease({ sandboxId: session.sandboxId });
    await stage.clock.advance(20 * SECOND);
    await used;
  });
});

describe('what a process that left has running', () => {
  it('stays so when that is what it wanted', async () => {
    const stage = new Stage();
    const [leaving, judge] = [await stage.process(), await stage.process()];
    const { sandboxId } = await leaving.manager.session({ ...KEY, policy: { onExit: 'keep' } });
    await stage.passing(leaving.manager.close());
    const { verdicts } = await judge.manager.reap();
    expect(verdicts).toMatchObject([{ action: 'keep', reason: expect.stringContaining('left running on purpose') }]);
    expect(await stage.row(sandboxId)).toMatchObject({ state: 'running', ownerId: NOBODY });
  });

  it('is put away by another when it could not do so itself', async () => {
    const stage = new Stage();
    const leaving = await stage.process();
    const judge = await stage.process({ manager: { sweepIntervalMs: 0 } });
    const { sandboxId } = await leaving.manager.session(KEY);
    stage.world.plan('pause', { type: 'refused' });
    await stage.passing(leaving.manager.close());
    expect((await stage.row(sandboxId)).state).toBe('running');
    await judge.manager.reap();
    expect((await stage.row(sandboxId)).state).toBe('paused');
  });
});

describe('a process that was given up for dead', () => {
  it('is on record again before it takes anything', async () => {
    const stage = new Stage();
    let silentMs = 0;
    const { manager } = await stage.process({
      ports: ({ clock }) => ({
        clock: { ...bound(clock), elapsed: () => clock.elapsed() + silentMs },
      }),
    });
    const { sandboxId } = await manager.session(KEY);
    await manager.sandboxes.stop(sandboxId);
    const { ownerId } = await stage.row(sandboxId);
    await stage.store.removeOwner(ownerId);
    silentMs = 10 * MINUTE;
    await manager.session(KEY);
    expect(await stage.row(sandboxId)).toMatchObject({ state: 'running', ownerId });
    expect(await stage.store.getOwner(ownerId)).toBeDefined();
  });
});

describe('a sandbox that several processes use', () => {
  it.each(['pause', 'destroy'] as const)(
    'is left to those that live when its owner is killed, with onExit %s',
    async (onExit) => {
      const stage = new Stage();
      const [first, last, judge] = [await stage.process(), await stage.process(), await stage.process()];
      const session = await first.manager.session({ ...KEY, policy: { onExit } });
      const working = session.commands.run('sleep 30');
      await last.manager.session(KEY);
      last.kill();
      const { verdicts } = await judge.manager.reap();
      expect(verdicts).toMatchObject([
        { action: 'adopt', reason: 'its owner died, and a process that had it before uses it' },
      ]);
      expect(await stage.row(session.sandboxId)).toMatchObject({ state: 'running', heirs: [] });
      expect(await stage.passing(working)).toMatchObject({ exitCode: 0 });
    },
  );

  it('follows the last of them that leaves', async () => {
    const stage = new Stage();
    const processes = [await stage.process(), await stage.process(), await stage.process()];
    let sandboxId = '';
    for (const { manager } of processes) ({ sandboxId } = await manager.session(KEY));
    const states: string[] = [];
    for (const index of [1, 2, 0]) {
      await stage.passing(processes[index]!.manager.close());
      states.push((await stage.row(sandboxId)).state);
    }
    expect(states).toEqual(['running', 'running', 'paused']);
  });

  it('is seen to when all of them are dead', async () => {
    const stage = new Stage();
    const [first, last, judge] = [await stage.process(), await stage.process(), await stage.process()];
    const { sandboxId } = await first.manager.session({ ...KEY, policy: { onExit: 'destroy' } });
    await last.manager.session(KEY);
    first.kill();
    last.kill();
    await judge.manager.reap();
    expect((await stage.row(sandboxId)).state).toBe('destroyed');
  });

  it('is seen to when the one that it is given to leaves meanwhile', async () => {
    const stage = new Stage();
    const [first, last] = [await stage.process(), await stage.process()];
    const { sandboxId } = await first.manager.session(KEY);
    await last.manager.session(KEY);
    last.kill();
    const judge = await stage.process(
      onceBefore('patchSandbox', async ({ heirs }: { readonly heirs?: unknown }) => {
        if (heirs === undefined) return false;
        await stage.passing(first.manager.close());
        return true;
      }),
    );
    await judge.manager.reap();
    await judge.manager.reap();
    expect((await stage.row(sandboxId)).state).toBe('paused');
  });
});

describe('a session whose sandbox was lost', () => {
  it('tells so also when the first to replace it died over it', async () => {
    const stage = new Stage();
    const [first, second, third] = [await stage.process(), await stage.process(), await stage.process()];
    const { sandboxId } = await first.manager.session(KEY);
    await stage.clock.advance(SECOND);
    stage.world.lose((await stage.row(sandboxId)).name);
    stage.world.plan('create', { type: 'stuck' });
    void second.manager.session(KEY);
    await stage.clock.advance(SECOND);
    second.kill();
    const session = await stage.passing(third.manager.session(KEY));
    expect(session.notices).toMatchObject([{ type: 'replaced' }]);
  });
});

function bound(clock: Clock): Clock {
  return { now: () => clock.now(), elapsed: () => clock.elapsed(), schedule: (ms, then) => clock.schedule(ms, then) };
}

/** The process's store, with something that happens after the method's first effect and before its answer. */
function onceAfter(method: keyof Store, work: () => Promise<void>): StageOptions {
  let isOver = false;
  return intercepting(method, async (perform) => {
    const result = await perform();
    if (!isOver) {
      isOver = true;
      await work();
    }
    return result;
  });
}

/** The process's store, with something that happens before the method's effect, until `work` says that it was the right one. */
function onceBefore<A>(method: keyof Store, work: (argument: A) => Promise<boolean>): StageOptions {
  let isOver = false;
  return intercepting(method, async (perform, call) => {
    if (!isOver) isOver = await work(call[1] as A);
    return perform();
  });
}

function intercepting(
  method: keyof Store,
  around: (perform: () => Promise<unknown>, call: readonly [SandboxId, Partial<Move>]) => Promise<unknown>,
): StageOptions {
  return {
    ports: ({ store }) => ({
      store: new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (name !== method || typeof member !== 'function') return member;
          return (...call: unknown[]) =>
            around(
              async () => Reflect.apply(member, target, call) as Promise<unknown>,
              call as unknown as [SandboxId, Partial<Move>],
            );
        },
      }),
    }),
  };
}
