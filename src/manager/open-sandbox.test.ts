/** Using a sandbox by its id. */
import { expect, it } from 'vitest';
import { Stage } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };

it('refuses what is gone, being made or being destroyed', async () => {
  const stage = new Stage();
  const { manager } = await stage.process();
  const { sandboxId } = await manager.session(KEY);
  await manager.sandboxes.destroy(sandboxId);
  await expect(manager.sandboxes.open(sandboxId)).rejects.toMatchObject({
    code: 'STATE_CONFLICT',
    message: `Sandbox ${sandboxId} is destroyed.`,
  });
});

it('marks what its provider does not have as lost, once', async () => {
  const stage = new Stage();
  const first = await stage.process({ policy: { onExit: 'keep' } });
  const { sandboxId } = await first.manager.session(KEY);
  await first.manager.close();
  stage.world.lose((await stage.row(sandboxId)).name);
  const { manager } = await stage.process();
  await expect(manager.sandboxes.open(sandboxId)).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
  await expect(manager.sandboxes.open(sandboxId)).rejects.toMatchObject({ code: 'STATE_CONFLICT' });
  expect((await manager.events({ sandboxId })).at(-1)).toMatchObject({ type: 'sandbox.lost' });
});

it('does not take a provider that fails for a sandbox that is gone', async () => {
  const stage = new Stage();
  const first = await stage.process({ policy: { onExit: 'keep' } });
  const { sandboxId } = await first.manager.session(KEY);
  await first.manager.close();
  const { manager } = await stage.process();
  stage.world.plan('attach', { type: 'refused' });
  await expect(manager.sandboxes.open(sandboxId)).rejects.toMatchObject({ code: 'PROVIDER_UNAVAILABLE' });
  expect((await (await manager.sandboxes.open(sandboxId)).commands.run('echo on')).stdout).toBe('on\n');
});

it('refuses a sandbox whose network is weaker than its record and cannot be cut', async () => {
  const stage = new Stage();
  const capabilities = ['network-open', 'network-none', 'pause'] as const;
  const first = await stage.process({ capabilities, policy: { onExit: 'keep' } });
  const { sandboxId } = await first.manager.session(KEY);
  await first.manager.close();
  await stage.store.patchSandbox(sandboxId, { network: 'none' });
  const { manager } = await stage.process({ capabilities });
  await expect(manager.sandboxes.open(sandboxId)).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
});
