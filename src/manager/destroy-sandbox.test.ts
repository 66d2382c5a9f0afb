/** Getting a sandbox back, and the answer to who did it and why. */
import { describe, expect, it } from 'vitest';
import { settle } from '../testing/index.ts';
import { MINUTE, Stage } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };

describe('who destroyed it and why', () => {
  it.each([
    ['asked by hand', { autoStopMinutes: 0 }, 'asked by hand'],
    ['idle', { autoStopMinutes: 5 }, 'idle for 5 minutes'],
    ['too old', { autoDeleteMinutes: 5, autoStopMinutes: 0 }, 'older than 5 minutes'],
    ['its owner exited', { onExit: 'destroy', autoStopMinutes: 0 }, 'its owner exited'],
  ] as const)('is on record when it was %s', async (why, policy, cause) => {
    const stage = new Stage();
    const { manager, ports } = await stage.process({ policy });
    const { sandboxId } = await manager.session(KEY);
    if (why === 'asked by hand') await manager.sandboxes.destroy(sandboxId);
    await stage.clock.advance(10 * MINUTE);
    if (why === 'its owner exited') await manager.close();
    expect((await stage.row(sandboxId)).cause).toBe(cause);
    const told = (await stage.store.listEvents({ sandboxId })).find(({ type }) => type === 'sandbox.destroying');
    expect(told).toMatchObject({ cause, details: { by: `process ${ports.identity.pid} on alpha` } });
  });

  it('names the one who recovered it, not the one who died', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    void dead.manager.ephemeral({}, () => new Promise(() => {}));
    await settle();
    dead.kill();
    const { manager, ports } = await stage.process();
    await manager.sweep();
    const told = (await manager.events()).find(({ type }) => type === 'sandbox.destroying');
    expect(told?.cause).toBe('ephemeral, and its owner died');
    expect(told?.details).toEqual({ by: `process ${ports.identity.pid} on alpha` });
  });

  it('names what took its place', async () => {
    const stage = new Stage();
    const { manager } = await stage.process();
    const { sandboxId } = await manager.session(KEY);
    stage.world.lose((await stage.row(sandboxId)).name);
    await stage.clock.advance(MINUTE);
    const next = await manager.session(KEY);
    await settle();
    expect(await stage.row(sandboxId)).toMatchObject({ state: 'destroyed', cause: `replaced by ${next.sandboxId}` });
  });
});

it('is done once by two who ask at the same time, and again is success', async () => {
  const stage = new Stage();
  const [mine, theirs] = [await stage.process(), await stage.process()];
  const { sandboxId } = await mine.manager.session(KEY);
  const both = await Promise.all([mine, theirs].map(({ manager }) => manager.sandboxes.destroy(sandboxId)));
  expect(both.map(({ state }) => state)).toEqual(['destroyed', 'destroyed']);
  expect((await mine.manager.sandboxes.destroy(sandboxId)).state).toBe('destroyed');
  const moves = (await stage.store.listEvents({ sandboxId })).filter(({ type }) => type === 'sandbox.destroying');
  expect(moves).toHaveLength(1);
});
