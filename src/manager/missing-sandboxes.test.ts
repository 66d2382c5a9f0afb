/** What is on record and not at the provider is lost: when the list and a direct question say so, twice, and not before. */
import { describe, expect, it } from 'vitest';
import { ORPHAN_GRACE_MS } from '../core/recovery.ts';
import { MINUTE, Stage } from '../../test/setup/stage.ts';
import type { StageProcess } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };
const KEPT = { ...KEY, policy: { onExit: 'keep', autoStopMinutes: 0 } } as const;

describe('a sandbox that its provider does not have', () => {
  it('is marked lost in the second pass after the grace period, with why', async () => {
    const { stage, sandboxId, manager } = await abandoned();
    stage.world.lose((await stage.row(sandboxId)).name);
    expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'watch' }]);
    expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'watch' }]);
    await stage.clock.advance(ORPHAN_GRACE_MS);
    expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'mark-lost' }]);
    expect(await stage.row(sandboxId)).toMatchObject({ state: 'lost', cause: 'the provider no longer has it' });
  });

  it('is found out of by itself', async () => {
    const { stage, sandboxId } = await abandoned();
    stage.world.lose((await stage.row(sandboxId)).name);
    await stage.process();
    await stage.clock.advance(10 * MINUTE);
    expect((await stage.row(sandboxId)).state).toBe('lost');
  });

  it('is lost also when its owner died and it was to be paused', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    const { sandboxId } = await dead.manager.session({ ...KEY, policy: { autoStopMinutes: 0 } });
    await stage.clock.advance(1);
    stage.world.lose((await stage.row(sandboxId)).name);
    dead.kill();
    await stage.process();
    await stage.clock.advance(10 * MINUTE);
    expect((await stage.row(sandboxId)).state).toBe('lost');
    expect(await stage.store.getOwner((await stage.row(sandboxId)).ownerId)).toBeUndefined();
  });

  it('is told to the next use of its session', async () => {
    const { stage, sandboxId, manager } = await abandoned();
    stage.world.lose((await stage.row(sandboxId)).name);
    await stage.clock.advance(10 * MINUTE);
    const session = await manager.session(KEY);
    expect(session.notices).toMatchObject([{ type: 'replaced', lostSandboxId: sandboxId }]);
  });
});

describe('a sandbox that is only not listed', () => {
  it('is kept when the provider has it after all', async () => {
    const { stage, sandboxId } = await abandoned();
    const { manager } = await stage.process(unlisting());
    for (let pass = 0; pass < 3; pass++) {
      expect((await manager.reap()).verdicts).toMatchObject([
        { sandboxId, action: 'keep', reason: 'the provider did not list it, but has it' },
      ]);
      await stage.clock.advance(ORPHAN_GRACE_MS);
    }
    expect((await stage.row(sandboxId)).state).toBe('running');
  });

  it('is kept while the provider cannot say: unknown is not gone', async () => {
    const { stage, sandboxId } = await abandoned();
    const { manager } = await stage.process(unlisting());
    for (let pass = 0; pass < 3; pass++) {
      stage.world.plan('attach', { type: 'refused' });
      expect((await manager.reap()).verdicts).toMatchObject([
        { sandboxId, action: 'keep', reason: expect.stringContaining('unknown is not gone') },
      ]);
      await stage.clock.advance(ORPHAN_GRACE_MS);
    }
  });

  it('is not lost by one wrong answer', async () => {
    const { stage, sandboxId } = await abandoned();
    const { manager } = await stage.process(unlisting());
    await manager.reap();
    await stage.clock.advance(ORPHAN_GRACE_MS);
    stage.world.plan('attach', { type: 'phantom-not-found' });
    expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'watch' }]);
    await stage.clock.advance(ORPHAN_GRACE_MS);
    expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'keep' }]);
  });

  it('is left to its owner while that lives', async () => {
    const stage = new Stage();
    const living = await stage.process();
    const { sandboxId } = await living.manager.session(KEPT);
    stage.world.lose((await stage.row(sandboxId)).name);
    const { manager } = await stage.process();
    expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'keep', reason: 'its owner lives' }]);
    expect(stage.world.calls.attach).toBe(0);
  });
});

/** A sandbox that was left running on purpose by a process that is gone. */
async function abandoned(): Promise<{
  readonly stage: Stage;
  readonly sandboxId: string;
  readonly manager: StageProcess['manager'];
}> {
  const stage = new Stage();
  const first = await stage.process();
  const { sandboxId } = await first.manager.session(KEPT);
  await first.manager.close();
  // What is as young as the question need not be in the answer.
  await stage.clock.advance(1);
  const { manager } = await stage.process({ manager: { sweepIntervalMs: 0 } });
  return { stage, sandboxId, manager };
}

/** A process whose provider lists nothing, as one that lags behind. */
function unlisting(): Parameters<Stage['process']>[0] {
  return {
    manager: { sweepIntervalMs: 0 },
    ports: (ports) => ({
      provider: async (id, profile) =>
        new Proxy(await ports.provider(id, profile), {
          get: (target, name) => (name === 'list' ? async function* () {} : Reflect.get(target, name)),
        }),
    }),
  };
}
