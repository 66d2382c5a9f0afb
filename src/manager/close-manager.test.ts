/** Leaving a sandbox that another process uses as well. */
import { expect, it } from 'vitest';
import { createMemoryStore } from '../stores/memory/index.ts';
import { FaultyWorld, ManualClock, createFaultyPorts } from '../testing/index.ts';
import type { Manager } from './create-manager.ts';
import { createManager } from './create-manager.ts';

const KEY = { user: 'u', task: 't' };

it('gives a sandbox back to the process that was using it, which decides when it leaves in turn', async () => {
  const { agent, visitor } = await twoProcesses();
  const { sandboxId } = await agent.session(KEY);
  await visitor.session(KEY);
  await visitor.close();
  expect((await agent.sandboxes.get(sandboxId)).state).toBe('running');
  await agent.close();
  expect((await agent.sandboxes.get(sandboxId)).state).toBe('paused');
});

it('puts a sandbox away when the process it came from has left before', async () => {
  const { agent, visitor } = await twoProcesses();
  const { sandboxId } = await agent.session(KEY);
  await visitor.sandboxes.open(sandboxId);
  await agent.close();
  expect((await visitor.sandboxes.get(sandboxId)).state).toBe('running');
  await visitor.close();
  expect((await visitor.sandboxes.get(sandboxId)).state).toBe('paused');
});

it('puts a sandbox back to rest that it woke to use, and leaves one running that it was asked to resume', async () => {
  const { agent, visitor, another } = await twoProcesses();
  const { sandboxId } = await agent.session(KEY);
  await agent.close();
  await (await visitor.sandboxes.open(sandboxId)).commands.run('true');
  await visitor.close();
  expect((await visitor.sandboxes.get(sandboxId)).state).toBe('paused');
  const other = await another();
  await other.sandboxes.resume(sandboxId);
  await other.close();
  expect((await other.sandboxes.get(sandboxId)).state).toBe('running');
});

async function twoProcesses(): Promise<{
  readonly agent: Manager;
  readonly visitor: Manager;
  readonly another: () => Promise<Manager>;
}> {
  const world = new FaultyWorld(new ManualClock());
  const store = createMemoryStore();
  const another = (): Promise<Manager> =>
    createManager(createFaultyPorts(world, store), { sweepIntervalMs: 0, touchIntervalMs: 0 });
  return { agent: await another(), visitor: await another(), another };
}
