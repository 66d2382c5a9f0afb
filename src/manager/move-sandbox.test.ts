/** Pausing and stopping by a provider that fails: the row says what is so, or what is safe to believe. */
import { describe, expect, it } from 'vitest';
import type { Fault } from '../testing/faulty-provider-world.ts';
import { SECOND, Stage } from '../../test/setup/stage.ts';

describe('a stop that fails', () => {
  it.each<Fault>([{ type: 'refused' }, { type: 'lost-answer' }])('(%o) leaves what ran running', async (fault) => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const session = await stage.passing(manager.session({ user: 'ann', task: 'runs' }), SECOND);
    stage.world.plan('stop', fault);
    await expect(manager.sandboxes.stop(session.sandboxId)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect(await stage.row(session.sandboxId)).toMatchObject({ state: 'running', cause: 'stop failed' });
    // Only the answer may have failed: whoever asks for it looks first.
    const again = await stage.passing(manager.session({ user: 'ann', task: 'runs' }), SECOND);
    expect(again.sandboxId).toBe(session.sandboxId);
    expect((await again.commands.run('echo on')).stdout).toBe('on\n');
  });

  it.each<Fault>([{ type: 'refused' }, { type: 'lost-answer' }])(
    '(%o) is looked into by who holds it',
    async (fault) => {
      const stage = new Stage();
      const [mine, theirs] = [await stage.process(), await stage.process()];
      const session = await stage.passing(mine.manager.session({ user: 'ann', task: 'held' }), SECOND);
      stage.world.plan('stop', fault);
      await expect(mine.manager.sandboxes.stop(session.sandboxId)).rejects.toMatchObject({
        code: 'PROVIDER_UNAVAILABLE',
      });
      expect((await stage.passing(session.commands.run('echo on'))).stdout).toBe('on\n');
      // A handle of another process hears of it by a use that fails, and then looks too.
      stage.world.plan('stop', fault);
      await expect(theirs.manager.sandboxes.stop(session.sandboxId)).rejects.toMatchObject({
        code: 'PROVIDER_UNAVAILABLE',
      });
      await session.commands.run('echo perhaps').catch(() => undefined);
      expect((await stage.passing(session.commands.run('echo on'))).stdout).toBe('on\n');
    },
  );

  it.each<Fault>([{ type: 'refused' }, { type: 'lost-answer' }])('(%o) does not wake what slept', async (fault) => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const session = await stage.passing(manager.session({ user: 'ann', task: 'sleeps' }), SECOND);
    await manager.sandboxes.pause(session.sandboxId);
    stage.world.plan('stop', fault);
    await expect(manager.sandboxes.stop(session.sandboxId)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
    expect((await stage.row(session.sandboxId)).state).toBe('stopped');
    expect((await session.commands.run('echo on')).stdout).toBe('on\n');
  });
});
