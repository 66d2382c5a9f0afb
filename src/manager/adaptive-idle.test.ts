/** A session's idle time-out follows the gaps between its uses, also through another process and another sandbox. */
import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND, Stage } from '../../test/setup/stage.ts';
import type { Manager } from './create-manager.ts';

const policy = { autoStopMinutes: 10, autoStopMinMinutes: 5, autoStopMaxMinutes: 30 };
const KEY = { user: 'ada', task: 'thesis', policy };

describe('an idle time-out that may adapt', () => {
  it('is three times the usual gap, and is explained', async () => {
    const { stage, manager } = await alone();
    const { sandboxId } = await useEvery(stage, manager, 6 * MINUTE, 5);
    expect(await idleTimeout(manager, sandboxId)).toBe('18 min: 3× the usual gap of 6 min, within 5–30');
    await stage.clock.advance(17 * MINUTE);
    expect((await manager.sandboxes.get(sandboxId)).state).toBe('running');
    await stage.clock.advance(3 * MINUTE);
    const { state, cause } = await manager.sandboxes.get(sandboxId);
    expect([state, cause]).toEqual(['destroyed', 'idle for 18 min: 3× the usual gap of 6 min, within 5–30']);
  });

  it('never leaves its bounds', async () => {
    const { stage, manager } = await alone();
    const { sandboxId } = await useEvery(stage, manager, MINUTE, 5);
    expect(await idleTimeout(manager, sandboxId)).toBe('5 min: 3× the usual gap of 1 min, within 5–30');
  });

  it('counts no time in which a command runs', async () => {
    const { stage, manager } = await alone();
    const session = await manager.session(KEY);
    for (let n = 0; n < 4; n++) await stage.passing(session.commands.run('sleep 480'), 480 * SECOND);
    expect(await idleTimeout(manager, session.sandboxId)).toContain('too few gaps');
  });

  it('is known to another process, and costs no write of its own', async () => {
    const { stage, manager } = await alone();
    const { sandboxId } = await useEvery(stage, manager, 6 * MINUTE, 5);
    await stage.clock.advance(MINUTE);
    expect(await stage.row(sandboxId)).toMatchObject({ gaps: { count: 4, usualMs: 6 * MINUTE } });
    const { manager: other } = await stage.process();
    expect(await idleTimeout(other, sandboxId)).toBe('18 min: 3× the usual gap of 6 min, within 5–30');
  });

  it('is kept by the sandbox that takes the place of a destroyed one, with the gap that was too long', async () => {
    const { stage, manager } = await alone();
    const { sandboxId } = await useEvery(stage, manager, 2 * MINUTE, 5);
    await stage.clock.advance(20 * MINUTE);
    expect((await manager.sandboxes.get(sandboxId)).state).toBe('destroyed');
    const { sandboxId: next } = await manager.session(KEY);
    expect(next).not.toBe(sandboxId);
    const gaps = (await stage.row(next)).gaps;
    expect(gaps?.count).toBe(5);
    expect(gaps?.usualMs).toBeGreaterThan(2 * MINUTE);
  });

  it('does not adapt unless policy gives bounds', async () => {
    const { stage, manager } = await alone();
    const session = await manager.session({ user: 'ada', task: 'plain' });
    for (let n = 0; n < 5; n++) {
      await stage.clock.advance(6 * MINUTE);
      await session.commands.run('true');
    }
    expect(await idleTimeout(manager, session.sandboxId)).toBe('10 min');
    await stage.clock.advance(MINUTE);
    expect((await stage.row(session.sandboxId)).gaps).toBeUndefined();
  });
});

async function alone(): Promise<{ readonly stage: Stage; readonly manager: Manager }> {
  const stage = new Stage();
  return { stage, manager: (await stage.process()).manager };
}

async function useEvery(stage: Stage, manager: Manager, ms: number, times: number): Promise<{ sandboxId: string }> {
  const session = await manager.session(KEY);
  for (let n = 0; n < times; n++) {
    await session.commands.run('true');
    if (n < times - 1) await stage.clock.advance(ms);
  }
  return session;
}

async function idleTimeout(manager: Manager, id: string): Promise<string> {
  return (await manager.sandboxes.inspect(id)).idleTimeout;
}
