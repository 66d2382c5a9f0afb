import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../stores/memory/index.ts';
import { createFaultyPorts, FaultyWorld, ManualClock } from '../testing/index.ts';
import { createManager } from './create-manager.ts';

const KEY = { user: 'ada', task: 'thesis' };
const DAY_MS = 24 * 60 * 60_000;

/** The state after one session was cut and destroyed, and `days` have passed, with a sweep every day. */
async function after(days: number): Promise<{ readonly network: string; readonly events: readonly string[] }> {
  const clock = new ManualClock();
  const store = createMemoryStore();
  const daily = { sweepIntervalMs: DAY_MS, heartbeatIntervalMs: DAY_MS, touchIntervalMs: DAY_MS };
  const manager = await createManager(createFaultyPorts(new FaultyWorld(clock), store), daily);
  const session = await manager.session({ ...KEY, network: 'open' });
  await session.markPrivate('customer data read');
  await manager.sandboxes.destroy(session.sandboxId);
  await clock.advance(days * DAY_MS);
  const events = (await store.listEvents({})).map((event) => event.type).filter((type) => type === 'session.removed');
  const { network } = await manager.session({ ...KEY, network: 'open' });
  await manager.close();
  return { network, events };
}

describe('a session whose sandbox was destroyed', () => {
  it('keeps its network level for 30 days', async () => {
    expect(await after(29)).toEqual({ network: 'none', events: [] });
  });

  it('is forgotten with its level after that, and its removal is on record', async () => {
    expect(await after(32)).toEqual({ network: 'open', events: ['session.removed'] });
  });
});
