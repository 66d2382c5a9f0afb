/** A hold on a sandbox that others may pause, replace or take. */
import { expect, it } from 'vitest';
import { Stage } from '../../test/setup/stage.ts';

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
