/** What is due is reached, whatever else is due and cannot be done. */
import { expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../core/policy.ts';
import { FaultyWorld } from '../testing/index.ts';
import { sandboxIn } from '../testing/store-contract/rows.ts';
import { MINUTE, Stage, withProviders } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };
const IDLE = { ...DEFAULT_POLICY, autoStopMinutes: 1 };

it.each(['refused', 'stuck'] as const)('reaches what is due behind many whose provider is %s', async (type) => {
  const stage = new Stage();
  const slow = new FaultyWorld(stage.clock);
  const { manager } = await stage.process({ ports: withProviders({ slow }), manager: { reconcileIntervalMs: 0 } });
  const { sandboxId } = await manager.session({ ...KEY, policy: { autoStopMinutes: 5 } });
  for (let n = 0; n < 300; n++)
    await sandboxIn(stage.store, 'destroying', { id: `sbx_0${n}`, provider: 'slow', dueAt: stage.clock.now() });
  slow.plan('destroy', ...Array.from({ length: 1_000 }, () => ({ type })));
  await stage.clock.advance(8 * MINUTE);
  expect((await stage.row(sandboxId)).state).toBe('destroyed');
});

it('reaches what is due behind much that only another machine can do', async () => {
  const stage = new Stage();
  const { manager } = await stage.process({ boundToHost: true });
  const { sandboxId } = await manager.session({ ...KEY, policy: { autoStopMinutes: 5 } });
  for (let n = 0; n < 300; n++)
    await sandboxIn(stage.store, 'running', { id: `sbx_0${n}`, provider: 'faulty', policy: IDLE, dueAt: 1 });
  await stage.clock.advance(7 * MINUTE);
  expect((await stage.row(sandboxId)).state).toBe('destroyed');
  expect(await stage.row('sbx_0299')).toMatchObject({ state: 'running', dueAt: 1 });
});

it('leaves what is leased, however idle it looks', async () => {
  const stage = new Stage();
  const { manager } = await stage.process({ policy: { autoStopMinutes: 1 } });
  const { sandboxId } = await manager.session(KEY);
  await using lease = await manager.lease({ sandboxId });
  await stage.clock.advance(30 * MINUTE);
  expect((await lease.commands.run('echo on')).stdout).toBe('on\n');
});
