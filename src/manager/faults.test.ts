/** Whatever the provider gets wrong: once it is well again, the store and the cloud agree, and nothing is left over. */
import { expect, it } from 'vitest';
import type { Session } from '../core/api.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import type { Fault } from '../testing/index.ts';
import { FaultyWorld, ManualClock, createFaultyPorts } from '../testing/index.ts';
import type { Manager } from './create-manager.ts';
import { createManager } from './create-manager.ts';

const ANY: readonly Fault[] = [
  { type: 'slow', ms: 700 },
  { type: 'refused' },
  { type: 'lost-answer' },
  { type: 'rate-limited', retryAfterMs: 2_000 },
  { type: 'stuck' },
];
const PHANTOM: Fault = { type: 'phantom-not-found' };
// A destroy that claims to have found nothing is for the search for orphans to make good.
const FAULTS = {
  create: [...ANY, { type: 'duplicate' } as const],
  attach: [...ANY, PHANTOM],
  command: [...ANY, PHANTOM],
  destroy: ANY,
  pause: [...ANY, PHANTOM],
  resume: [...ANY, PHANTOM],
};
const MINUTE = 60_000;

it.each(Array.from({ length: 40 }, (_, seed) => seed))('seed %i', async (seed) => {
  const clock = new ManualClock();
  const world = new FaultyWorld(clock);
  const store = createMemoryStore();
  const open = (): Promise<Manager> =>
    createManager(createFaultyPorts(world, store, { policy: { timeoutSeconds: 20, autoStopMinutes: 0 } }));
  const managers = [await open(), await open()];
  world.seed(seed, 0.3, FAULTS);

  for (let round = 0; round < 12; round++) {
    const patience = new AbortController();
    const { signal } = patience;
    clock.schedule(MINUTE, () => patience.abort());
    const asked = managers.flatMap((manager, index) => [
      manager.session({ task: `t${(seed + round) % 3}` }).then(
        (session) => use(session, signal),
        () => {},
      ),
      manager.run('echo hi', { signal }).catch(() => {}),
      round % 4 === 3
        ? manager.sandboxes[index === 0 ? 'pause' : 'destroy'](`t${round % 3}`).catch(() => {})
        : Promise.resolve(),
    ]);
    // Longer than any time-out, so that whatever is stuck has given up.
    await clock.advance(2 * MINUTE);
    await Promise.all(asked);
  }

  world.heal();
  await clock.advance(30 * MINUTE);
  const rows = await store.findSandboxes({ states: ['creating', 'running', 'paused', 'stopped', 'destroying'] });
  expect(new Set(world.boxes.map((box) => box.name))).toEqual(new Set(rows.map((row) => row.name)));
  expect(rows.filter((row) => row.state === 'creating' || row.state === 'destroying')).toEqual([]);
  const bound = rows.map((row) => row.sessionKey);
  expect(new Set(bound).size).toBe(bound.length);

  for (const manager of managers) expect((await manager.session({ task: 't0' })).sandboxId).toMatch(/^sbx_/);
  const closing = Promise.all(managers.map((manager) => manager.close()));
  await clock.advance(MINUTE);
  await closing;
  expect(await store.listOwners()).toEqual([]);
});

async function use(session: Session, signal: AbortSignal): Promise<void> {
  await session.commands.run('echo hi', { signal }).catch(() => {});
  await session.release();
}
