/** Sandboxes as they are listed. */
import { expect, it } from 'vitest';
import { settle } from '../testing/index.ts';
import { Stage } from '../../test/setup/stage.ts';

it('tells what a process that died had, until somebody has seen to it', async () => {
  const stage = new Stage();
  const [dead, living] = [await stage.process(), await stage.process()];
  const { manager } = await stage.process({ manager: { sweepIntervalMs: 0 } });
  void dead.manager.run('sleep 600');
  await settle();
  const [left] = await manager.sandboxes.list();
  expect(left?.ownerDied).toBeUndefined();
  await living.manager.session({ user: 'ada', task: 'thesis' });
  dead.kill();
  const listed = await manager.sandboxes.list();
  expect(listed).toHaveLength(2);
  expect(listed.filter(({ ownerDied }) => ownerDied)).toMatchObject([{ id: left?.id, state: 'running' }]);
  await manager.sweep();
  expect((await manager.sandboxes.list()).map(({ ownerDied }) => ownerDied)).toEqual([undefined]);
});
