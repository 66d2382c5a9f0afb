/** Sets: as many sandboxes as a session may have, the most recently used first, each a session of its own. */
import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND, Stage } from '../../test/setup/stage.ts';
import type { SandboxSet } from '../core/api.ts';
import type { Manager } from './create-manager.ts';

const KEY = { user: 'ada', task: 'thesis' };

describe('a set', () => {
  it('gives the most recently used one, and another only when a fresh one is asked for', async () => {
    const { stage, set } = await setOf(2);
    const first = await set.sandbox();
    await stage.clock.advance(SECOND);
    expect((await set.sandbox()).sandboxId).toBe(first.sandboxId);
    const second = await set.sandbox({ fresh: true });
    expect(second).toMatchObject({ created: true });
    expect(second.sandboxId).not.toBe(first.sandboxId);
    await stage.clock.advance(SECOND);
    expect((await set.sandbox()).sandboxId).toBe(second.sandboxId);
    await stage.clock.advance(SECOND);
    await first.commands.run('true');
    expect((await set.sandbox()).sandboxId).toBe(first.sandboxId);
    expect((await set.list()).map(({ sandboxId }) => sandboxId)).toEqual([first.sandboxId, second.sandboxId]);
  });

  it('destroys the least recently used one beyond the limit, and says why', async () => {
    const { stage, manager, set } = await setOf(2);
    const made: string[] = [];
    for (let n = 0; n < 4; n++) {
      made.push((await set.sandbox({ fresh: true })).sandboxId);
      await stage.clock.advance(SECOND);
    }
    expect((await set.list()).map(({ sandboxId }) => sandboxId)).toEqual([made[3], made[2]]);
    expect(stage.world.boxes).toHaveLength(2);
    const { state, cause } = await manager.sandboxes.inspect(made[0] as string);
    expect([state, cause]).toEqual(['destroyed', 'least recently used of 2']);
  });

  it('never destroys one that works: a command in the foreground or the background, or a lease', async () => {
    const { stage, set } = await setOf(3);
    const [busy, background] = [await set.sandbox({ fresh: true }), await set.sandbox({ fresh: true })];
    const held = await set.sandbox({ fresh: true, exclusive: { holder: 'me', ttlMs: 10 * MINUTE } });
    const running = busy.commands.run('sleep 300');
    const started = await background.commands.start('sleep 300');
    await stage.clock.advance(SECOND);
    await expect(set.sandbox({ fresh: true })).rejects.toMatchObject({
      code: 'LEASE_HELD',
      message: `All 3 sandboxes of ${set.key} are in use.`,
    });
    expect(stage.world.boxes).toHaveLength(3);
    await held.release();
    const next = await set.sandbox({ fresh: true });
    expect(next.sandboxId).not.toBe(held.sandboxId);
    await started.kill();
    await stage.clock.advance(300 * SECOND);
    expect((await running).exitCode).toBe(0);
  });

  it('passes over what somebody has exclusively, and makes another while there is room', async () => {
    const { set } = await setOf(2);
    const one = await set.sandbox({ exclusive: true });
    const two = await set.sandbox({ exclusive: true });
    expect(two.sandboxId).not.toBe(one.sandboxId);
    await expect(set.sandbox({ exclusive: true })).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await one.release();
    expect((await set.sandbox({ exclusive: true })).sandboxId).toBe(one.sandboxId);
  });

  it('replaces a dead one in its place, and tells', async () => {
    const { stage, set } = await setOf(2);
    const [dead] = [await set.sandbox({ fresh: true }), await set.sandbox({ fresh: true })];
    await stage.clock.advance(SECOND);
    await dead.commands.run('true');
    stage.world.lose((await stage.row(dead.sandboxId)).name);
    await stage.clock.advance(MINUTE);
    const again = await set.sandbox();
    expect(again.key).toBe(dead.key);
    expect(again.notices).toMatchObject([{ type: 'replaced', lostSandboxId: dead.sandboxId }]);
    expect(await set.list()).toHaveLength(2);
  });

  it('keeps runtimes apart, each with room of its own', async () => {
    const { stage, set } = await setOf(1);
    const python = await set.sandbox({ runtime: 'python' });
    const node = await set.sandbox({ runtime: 'node' });
    expect(python.sandboxId).not.toBe(node.sandboxId);
    expect((await set.sandbox({ runtime: 'python' })).sandboxId).toBe(python.sandboxId);
    expect((await set.list('node')).map(({ runtime }) => runtime)).toEqual(['node']);
    expect(stage.world.boxes).toHaveLength(2);
  });

  it('never crosses users, whatever they call themselves and their tasks', async () => {
    const { stage, manager } = await setOf(1);
    const owners = [
      { user: 'ada', task: 'a%/default%/0' },
      { user: 'ada', task: 'a' },
      { user: 'ada%/default', task: 'a' },
      { user: 'eve', task: 'a' },
      { user: 'ada:a', task: 'default' },
    ];
    const ids = [];
    for (const owner of owners)
      ids.push((await manager.sandboxSet({ ...owner, maxPerRuntime: 1 }).sandbox()).sandboxId);
    expect(new Set(ids).size).toBe(owners.length);
    expect(stage.world.boxes).toHaveLength(owners.length);
    for (const [index, owner] of owners.entries())
      expect((await manager.sandboxSet(owner).list()).map(({ sandboxId }) => sandboxId)).toEqual([ids[index]]);
  });

  it('gives up what is beyond a limit that was lowered', async () => {
    const { stage, manager, set } = await setOf(3);
    for (let n = 0; n < 3; n++) await set.sandbox({ fresh: true });
    await stage.clock.advance(SECOND);
    await manager.sandboxSet({ ...KEY, maxPerRuntime: 1 }).sandbox();
    expect(stage.world.boxes).toHaveLength(1);
  });

  it('refuses a limit that is none', async () => {
    const { manager } = await setOf(1);
    expect(() => manager.sandboxSet({ ...KEY, maxPerRuntime: 0 })).toThrow('0 sandboxes');
  });
});

describe('the network of a set', () => {
  it('tightens for all of them, and for the session itself', async () => {
    const { stage, manager, set } = await setOf(3);
    const plain = await manager.session({ ...KEY, network: 'open' });
    const one = await set.sandbox({ fresh: true, network: 'open' });
    const two = await set.sandbox({ fresh: true, network: 'open' });
    const stranger = await manager.session({ user: 'eve', task: 'thesis', network: 'open' });
    await one.markPrivate('customer data read');
    expect([plain.network, one.network, two.network, stranger.network]).toEqual(['none', 'none', 'none', 'open']);
    expect(stage.world.boxes.map(({ network }) => network).toSorted()).toEqual(['none', 'none', 'none', 'open']);
  });

  it('holds for one that is made later, in another process', async () => {
    const { stage, set } = await setOf(3);
    const one = await set.sandbox({ network: 'open' });
    await one.markPrivate('customer data read');
    const { manager: other } = await stage.process();
    const later = await other.sandboxSet({ ...KEY, maxPerRuntime: 3 }).sandbox({ fresh: true, network: 'open' });
    expect(later.network).toBe('none');
    expect(stage.world.boxes.map(({ network }) => network)).toEqual(['none', 'none']);
  });

  it('has one not be made that another is tightened over, and the next is as tight', async () => {
    const { stage, set } = await setOf(3);
    const one = await set.sandbox({ network: 'open' });
    stage.world.plan('create', { type: 'slow', ms: 5 * SECOND });
    const making = set.sandbox({ fresh: true, network: 'open' });
    const refused = expect(making).rejects.toMatchObject({ code: 'NETWORK_NOT_ENFORCEABLE' });
    await stage.clock.advance(SECOND);
    await stage.passing(one.markPrivate('customer data read'));
    await stage.passing(refused);
    expect(stage.world.boxes.map(({ network }) => network)).toEqual(['none']);
    expect((await set.sandbox({ fresh: true, network: 'open' })).network).toBe('none');
  });
});

describe('several processes with one set', () => {
  it('never have more than the limit between them', async () => {
    const stage = new Stage();
    const processes = await Promise.all([1, 2, 3, 4].map(() => stage.process()));
    let most = 0;
    for (let round = 0; round < 5; round++) {
      const asked = processes.flatMap(({ manager }) => [
        setIn(manager, 3).sandbox({ fresh: true }),
        setIn(manager, 3).sandbox(),
      ]);
      await stage.passing(Promise.allSettled(asked), 5 * SECOND);
      most = Math.max(most, (await setIn(processes[0]?.manager as Manager, 3).list()).length);
      await stage.clock.advance(MINUTE);
    }
    expect(most).toBe(3);
    expect(stage.world.boxes.length).toBeLessThanOrEqual(3);
  });

  it('leave alone what another is working in', async () => {
    const { stage, set } = await setOf(1);
    const busy = await set.sandbox();
    const running = busy.commands.run('sleep 600');
    const { manager: other } = await stage.process();
    for (let minute = 0; minute < 5; minute++) {
      await stage.clock.advance(MINUTE);
      await expect(setIn(other, 1).sandbox({ fresh: true })).rejects.toMatchObject({ code: 'LEASE_HELD' });
    }
    await stage.clock.advance(10 * MINUTE);
    expect((await running).exitCode).toBe(0);
    expect((await setIn(other, 1).sandbox({ fresh: true })).created).toBe(true);
  });

  it('go on with what a killed one left', async () => {
    const { stage, set, kill } = await setOf(2);
    const left = await set.sandbox();
    kill();
    await stage.clock.advance(MINUTE);
    const { manager: other } = await stage.process();
    await stage.passing(setIn(other, 2).sandbox());
    const places = await setIn(other, 2).list();
    expect(places).toMatchObject([{ key: left.key }]);
  });
});

async function setOf(
  max: number,
): Promise<{ readonly stage: Stage; readonly manager: Manager; readonly set: SandboxSet; kill(): void }> {
  const stage = new Stage();
  const { manager, kill } = await stage.process();
  return { stage, manager, set: setIn(manager, max), kill };
}

function setIn(manager: Manager, maxPerRuntime: number): SandboxSet {
  return manager.sandboxSet({ ...KEY, maxPerRuntime });
}
