/** A hold on a sandbox that others may pause, replace or take. */
import { expect, it } from 'vitest';
import type { Session } from '../core/api.ts';
import { SECOND, Stage } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };

it('wakes what another process put to rest', async () => {
  const stage = new Stage();
  const [mine, theirs] = [await stage.process(), await stage.process()];
  const session = await mine.manager.session(KEY);
  for (const rest of ['pause', 'stop'] as const) {
    await theirs.manager.sandboxes[rest](session.sandboxId);
    expect((await session.commands.run('echo on')).stdout).toBe('on\n');
  }
});

it('says who ended it and why when it is gone', async () => {
  const stage = new Stage();
  const [mine, theirs] = [await stage.process(), await stage.process()];
  const session = await mine.manager.session(KEY);
  await theirs.manager.sandboxes.destroy(session.sandboxId, 'cleaned up by the night job');
  await expect(session.commands.run('echo no')).rejects.toMatchObject({
    code: 'CLOSED',
    message: expect.stringContaining('is destroyed (cleaned up by the night job)'),
  });
});

it('does not go on in a sandbox that was lost', async () => {
  const stage = new Stage();
  const { manager } = await stage.process();
  const session = await manager.session(KEY);
  await stage.store.moveSandbox(session.sandboxId, {
    to: 'lost',
    at: stage.clock.now(),
    cause: 'the provider no longer has it',
    ownerId: 'own_other',
  });
  await expect(session.files.readText('a')).rejects.toMatchObject({ code: 'CLOSED' });
});

it('says of every use that its sandbox is gone', async () => {
  const stage = new Stage();
  const { manager } = await stage.process();
  const session = await manager.session(KEY);
  stage.world.remove((await stage.row(session.sandboxId)).name);
  for (const command of ['echo no', 'echo neither'])
    await expect(session.commands.run(command)).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
});

it('sends nothing into a sandbox that was tightened once it was awake', async () => {
  const { stage, session } = await asleep();
  // It is found asleep, woken, and found awake, which takes a while.
  stage.world.plan('attach', { type: 'slow', ms: 0 }, { type: 'slow', ms: SECOND });
  const asked = session.commands.run('connect');
  await stage.clock.advance(SECOND / 2);
  expect((await stage.row(session.sandboxId)).state).toBe('running');
  await stage.store.tightenSession(session.key, 'none', 'customer data read', stage.clock.now());
  expect(await stage.passing(asked)).toMatchObject({ exitCode: 1 });
  expect(stage.world.boxes).toMatchObject([{ network: 'none' }]);
});

it('goes on in a sandbox that was tightened while it was being woken', async () => {
  const { stage, session } = await asleep();
  stage.world.plan('resume', { type: 'slow', ms: SECOND });
  const asked = session.commands.run('connect');
  await stage.clock.advance(SECOND / 2);
  expect((await stage.row(session.sandboxId)).state).toBe('paused');
  await stage.store.tightenSession(session.key, 'none', 'customer data read', stage.clock.now());
  expect(await stage.passing(asked)).toMatchObject({ exitCode: 1 });
  expect(stage.world.boxes).toMatchObject([{ network: 'none', state: 'running' }]);
});

async function asleep(): Promise<{ readonly stage: Stage; readonly session: Session }> {
  const stage = new Stage();
  const { manager } = await stage.process();
  const session = await manager.session(KEY);
  await manager.sandboxes.pause(session.sandboxId);
  return { stage, session };
}
