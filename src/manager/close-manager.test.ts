/** Leaving a sandbox that another process uses as well. */
import { expect, it } from 'vitest';
import { createMemoryStore } from '../stores/memory/index.ts';
import { createFaultyPorts } from '../testing/faulty-provider-ports.ts';
import { FaultyWorld } from '../testing/faulty-provider-world.ts';
import { ManualClock } from '../testing/manual-clock.ts';
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
  const { agent, visitor } = await twoProcesses();
  const { sandboxId } = await agent.session(KEY);
  await agent.close();
  await (await visitor.sandboxes.open(sandboxId)).commands.run('true');
  await visitor.close();
  expect((await visitor.sandboxes.get(sandboxId)).state).toBe('paused');
  const { visitor: other } = await twoProcesses(world, store);
  await other.sandboxes.resume(sandboxId);
  await other.close();
  expect((await other.sandboxes.get(sandboxId)).state).toBe('running');
});

let world = new FaultyWorld({ clock: new ManualClock() });
let store = createMemoryStore();

async function twoProcesses(): Promise<{ readonly agent: Manager; readonly visitor: Manager }> {
  world = new FaultyWorld({ clock: new ManualClock() });
  store = createMemoryStore();
  return { agent: await process(), visitor: await process() };
}

function process(): Promise<Manager> {
  return createManager(createFaultyPorts(world, store), { sweepIntervalMs: 0, touchIntervalMs: 0 });
}
