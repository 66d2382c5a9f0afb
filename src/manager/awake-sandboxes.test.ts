/** What the record says rests and the provider has running is put to rest, unless somebody is waking it. */
import { expect, it } from 'vitest';
import { ORPHAN_GRACE_MS } from '../core/recovery.ts';
import { Stage } from '../../test/setup/stage.ts';
import type { StageProcess } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };

it.each([
  ['pause', 'paused'],
  ['stop', 'stopped'],
] as const)('does the %s again that a killed process did not get to', async (verb, state) => {
  const { stage, manager, sandboxId } = await halfRested(verb);
  expect(stage.world.boxes[0]?.state).toBe('running');
  expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, state, action: 'watch' }]);
  await stage.clock.advance(ORPHAN_GRACE_MS);
  expect((await manager.reap({ dryRun: true })).verdicts).toMatchObject([{ sandboxId, action: verb }]);
  expect(stage.world.boxes[0]?.state).toBe('running');
  expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: verb }]);
  expect(stage.world.boxes[0]?.state).toBe(state);
  expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'keep' }]);
});

it('ends what is frozen though the record says that it was stopped', async () => {
  const { stage, manager, sandboxId } = await halfRested('stop', { isPaused: true });
  expect(stage.world.boxes[0]?.state).toBe('paused');
  expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, state: 'stopped', action: 'watch' }]);
  await stage.clock.advance(ORPHAN_GRACE_MS);
  expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'stop' }]);
  expect(stage.world.boxes[0]?.state).toBe('stopped');
  expect((await manager.reap()).verdicts).toMatchObject([{ sandboxId, action: 'keep' }]);
});

it('says what went wrong and tries again', async () => {
  const { stage, manager } = await halfRested('pause');
  await manager.reap();
  await stage.clock.advance(ORPHAN_GRACE_MS);
  stage.world.plan('pause', { type: 'refused' });
  expect((await manager.reap()).verdicts).toMatchObject([
    { action: 'pause', error: expect.stringContaining('refused') },
  ]);
  await manager.reap();
  expect(stage.world.boxes[0]?.state).toBe('paused');
});

it('leaves it to whoever wakes it meanwhile', async () => {
  const { stage, manager } = await halfRested('pause');
  const session = await (await stage.process()).manager.session(KEY);
  await manager.reap();
  await stage.clock.advance(ORPHAN_GRACE_MS);
  await manager.reap();
  expect(stage.world.boxes[0]?.state).toBe('running');
  expect((await session.commands.run('echo on')).stdout).toBe('on\n');
});

async function halfRested(
  verb: 'pause' | 'stop',
  { isPaused = false } = {},
): Promise<{ readonly stage: Stage; readonly manager: StageProcess['manager']; readonly sandboxId: string }> {
  const stage = new Stage();
  const dead = await stage.process({ policy: { autoStopMinutes: 0 } });
  const { sandboxId } = await dead.manager.session(KEY);
  if (isPaused) await dead.manager.sandboxes.pause(sandboxId);
  stage.world.plan(verb, { type: 'stuck' });
  void dead.manager.sandboxes[verb](sandboxId);
  await stage.clock.advance(1);
  dead.kill();
  const { manager } = await stage.process({ manager: { sweepIntervalMs: 0 } });
  await manager.sweep();
  await stage.clock.advance(1);
  return { stage, manager, sandboxId };
}
