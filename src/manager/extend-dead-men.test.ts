import { afterEach, describe, expect, it } from 'vitest';
import { SubletError } from '../core/errors.ts';
import type { SandboxHandle, SandboxProvider } from '../provider/provider.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { createFaultyPorts, FAULTY_CAPABILITIES, FaultyWorld, ManualClock } from '../testing/index.ts';
import type { Manager } from './create-manager.ts';
import { createManager } from './create-manager.ts';

const MINUTE = 60_000;
const KEY = { user: 'ada', task: 'thesis' };

let leave: () => Promise<void> = async () => {};
afterEach(() => leave());

describe("a provider's own deadline", () => {
  it('is on record, and moves on while the sandbox is used', async () => {
    const { clock, manager, deadlines, startedAt } = await stage();
    const session = await manager.session(KEY);
    const deadMan = async (): Promise<number | undefined> => (await manager.sandboxes.get(session.sandboxId)).deadManAt;
    expect(await deadMan()).toBe(startedAt + 15 * MINUTE);
    for (let minute = 0; minute < 30; minute++) {
      await session.commands.run('true');
      await clock.advance(MINUTE);
    }
    const at = await deadMan();
    expect(at).toBeGreaterThan(startedAt + 40 * MINUTE);
    expect(deadlines.size).toBe(1);
    expect([...deadlines.values()]).toEqual([at]);
  });

  it('is left to run out when nobody uses the sandbox', async () => {
    const { clock, manager, startedAt } = await stage();
    const { sandboxId } = await manager.session(KEY);
    await clock.advance(9 * MINUTE);
    expect((await manager.sandboxes.get(sandboxId)).deadManAt).toBe(startedAt + 15 * MINUTE);
  });

  it('that cannot be moved is tried again', async () => {
    const { clock, manager, deadlines, fail } = await stage();
    const session = await manager.session(KEY);
    const [before] = deadlines.values();
    fail(true);
    await clock.advance(4 * MINUTE);
    await session.commands.run('true');
    await clock.advance(MINUTE / 2);
    expect([...deadlines.values()]).toEqual([before]);
    fail(false);
    await clock.advance(MINUTE / 2);
    expect([...deadlines.values()][0]).toBeGreaterThan(before ?? 0);
  });
});

interface Stage {
  readonly clock: ManualClock;
  readonly manager: Manager;
  readonly deadlines: ReadonlyMap<string, number>;
  readonly startedAt: number;
  fail(doesFail: boolean): void;
}

/** The faulty cloud with an end of its own for each sandbox. */
async function stage(): Promise<Stage> {
  const clock = new ManualClock();
  const world = new FaultyWorld(clock);
  const ports = createFaultyPorts(world, createMemoryStore(), {
    capabilities: [...FAULTY_CAPABILITIES, 'extend'],
    policy: { autoStopMinutes: 10 },
  });
  const deadlines = new Map<string, number>();
  let isFailing = false;
  const withEnd = (handle: SandboxHandle): SandboxHandle => ({ ...handle, deadManAt: deadlines.get(handle.ref.name) });
  const inner = await ports.provider('faulty', 'default');
  const provider: SandboxProvider = {
    ...inner,
    async create(spec, signal) {
      const handle = await inner.create(spec, signal);
      deadlines.set(spec.name, clock.now() + (spec.deadManMs ?? 0));
      return withEnd(handle);
    },
    async attach(ref, signal, options) {
      const handle = await inner.attach(ref, signal, options);
      return handle && withEnd(handle);
    },
    async extend(ref, ms) {
      if (isFailing) throw new SubletError('PROVIDER_UNAVAILABLE', 'not now');
      deadlines.set(ref.name, clock.now() + ms);
      return clock.now() + ms;
    },
  };
  const startedAt = clock.now();
  const manager = await createManager({ ...ports, provider: async () => provider });
  leave = async () => {
    const closing = manager.close();
    await clock.advance(MINUTE);
    await closing;
  };
  return { clock, manager, deadlines, startedAt, fail: (doesFail) => void (isFailing = doesFail) };
}
