/** What dead processes left is seen to by the next one that looks: each thing once, and what cannot be done now later. */
import { describe, expect, it } from 'vitest';
import { newId, providerName } from '../core/ids.ts';
import type { SandboxState } from '../core/states.ts';
import { FaultyMachine, FaultyWorld, settle } from '../testing/index.ts';
import { sandboxIn } from '../testing/store-contract/rows.ts';
import { MINUTE, SECOND, Stage, withProviders } from '../../test/setup/stage.ts';
import type { StageProcess } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };

describe('what a dead process left', () => {
  it('is destroyed when it was ephemeral', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    void dead.manager.run('sleep 1000');
    await settle();
    dead.kill();
    const { manager } = await stage.process();
    const { actions } = await manager.sweep();
    expect(actions).toMatchObject([{ action: 'destroy', reason: 'ephemeral, and its owner died' }]);
    expect(stage.world.boxes).toEqual([]);
    expect((await stage.row(actions[0]?.sandboxId ?? '')).state).toBe('destroyed');
  });

  it.each([
    ['pause', 'paused'],
    ['keep', 'running'],
    ['destroy', undefined],
  ] as const)('follows onExit %s when it was a session', async (onExit, state) => {
    const stage = new Stage();
    const dead = await stage.process({ policy: { onExit } });
    const { sandboxId } = await dead.manager.session(KEY);
    dead.kill();
    const { manager } = await stage.process();
    await manager.sweep();
    expect(stage.world.boxes.map((box) => box.state)).toEqual(state === undefined ? [] : [state]);
    expect((await stage.row(sandboxId)).state).toBe(state ?? 'destroyed');
    expect((await manager.session(KEY)).sandboxId === sandboxId).toBe(state !== undefined);
  });

  it('is stopped where its provider can only stop, and kept where it can neither', async () => {
    for (const [capabilities, state] of [
      [['network-open', 'stop'], 'stopped'],
      [['network-open'], 'running'],
    ] as const) {
      const stage = new Stage();
      const dead = await stage.process({ capabilities });
      await dead.manager.session(KEY);
      dead.kill();
      await (await stage.process({ capabilities })).manager.sweep();
      expect(stage.world.boxes[0]?.state).toBe(state);
      expect((await stage.store.listOwners()).map(({ pid }) => pid)).not.toContain(dead.ports.identity.pid);
    }
  });

  it('is found without being asked for, as soon as another process changes something', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    void dead.manager.run('sleep 1000');
    await settle();
    dead.kill();
    const { manager } = await stage.process();
    await manager.session(KEY);
    await settle();
    expect(stage.world.boxes).toHaveLength(1);
    expect((await manager.events()).some(({ type }) => type === 'owner.died')).toBe(true);
  });

  it('is looked up by its name when it was half-made, and nothing remains of it', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    stage.world.plan('create', { type: 'crash' });
    void dead.manager.session(KEY);
    await settle();
    expect(stage.world.boxes).toHaveLength(1);
    dead.kill();
    const { manager } = await stage.process();
    expect((await manager.sweep()).actions).toMatchObject([{ reason: 'half-made when its owner died' }]);
    expect(stage.world.boxes).toEqual([]);
  });

  it('is destroyed to the end when its destruction had begun', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    const { sandboxId } = await dead.manager.session(KEY);
    stage.world.plan('destroy', { type: 'stuck' });
    void dead.manager.sandboxes.destroy(sandboxId, 'asked by hand');
    await settle();
    dead.kill();
    await (await stage.process()).manager.sweep();
    expect(stage.world.boxes).toEqual([]);
    expect(await stage.row(sandboxId)).toMatchObject({ state: 'destroyed', cause: 'asked by hand' });
  });

  it('stays as it is when it was already at rest, for the next use of its session', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    const { sandboxId } = await dead.manager.session(KEY);
    await dead.manager.sandboxes.pause(sandboxId);
    dead.kill();
    const { manager } = await stage.process();
    expect((await manager.sweep()).actions).toEqual([]);
    const session = await manager.session(KEY);
    expect(session).toMatchObject({ sandboxId, created: false, notices: [] });
    expect((await stage.row(sandboxId)).ownerId).not.toBe((await stage.store.listOwners()).at(1)?.id);
  });

  it('keeps its files for whoever adopts it', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    await (await dead.manager.session(KEY)).files.write('notes', 'kept');
    dead.kill();
    const { manager } = await stage.process();
    await manager.sweep();
    const session = await manager.session(KEY);
    expect(await session.files.readText('notes')).toBe('kept');
  });

  it('is recorded as the provider has it when it stopped with the machine', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    const { sandboxId } = await dead.manager.session(KEY);
    stage.machine.reboot();
    for (const box of stage.world.boxes) stage.world.setState(box, 'stopped');
    const { manager } = await stage.process();
    await manager.sweep();
    expect((await stage.row(sandboxId)).state).toBe('stopped');
    expect((await manager.session(KEY)).sandboxId).toBe(sandboxId);
  });

  it('is not touched while this process itself uses it', async () => {
    const stage = new Stage();
    const neighbour = await stage.process();
    const session = await neighbour.manager.session(KEY);
    const dead = await stage.process();
    await dead.manager.session(KEY);
    dead.kill();
    const running = session.commands.run('sleep 10');
    await settle();
    await neighbour.manager.sweep();
    expect(stage.world.boxes[0]?.state).toBe('running');
    expect((await stage.passing(running)).exitCode).toBe(0);
    const owners = await stage.store.listOwners();
    expect(owners.map(({ id }) => id)).toEqual([(await stage.row(session.sandboxId)).ownerId]);
  });

  it('is not touched while somebody who lives holds its lease', async () => {
    const stage = new Stage();
    const holder = await stage.process();
    const owner = await stage.process();
    const { sandboxId } = await owner.manager.session(KEY);
    const lease = await holder.manager.lease({ sandboxId });
    await stage.store.patchSandbox(sandboxId, { ownerId: await ownerOf(stage, owner) });
    owner.kill();
    await (await stage.process()).manager.sweep();
    expect(stage.world.boxes[0]?.state).toBe('running');
    expect((await lease.commands.run('echo on')).stdout).toBe('on\n');
  });
});

describe('the record of a dead owner', () => {
  it('goes last, with a word of who died', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    await dead.manager.session(KEY);
    dead.kill();
    const { manager } = await stage.process();
    const pids = async (): Promise<readonly number[]> => (await stage.store.listOwners()).map(({ pid }) => pid);
    stage.world.plan('attach', { type: 'refused' });
    await manager.sweep();
    expect(await pids()).toContain(dead.ports.identity.pid);
    await manager.sweep();
    expect(await pids()).not.toContain(dead.ports.identity.pid);
    const [died] = (await manager.events()).filter(({ type }) => type === 'owner.died');
    expect(died?.cause).toBe(`process ${dead.ports.identity.pid} on alpha ended without leaving`);
  });

  it('goes also when it leaves many sessions at rest', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    await dead.manager.session(KEY);
    const ownerId = await ownerOf(stage, dead);
    for (let index = 0; index < 450; index++) await rowIn(stage, 'paused', { ownerId });
    dead.kill();
    await (await stage.process()).manager.sweep();
    expect((await stage.store.listOwners()).map(({ id }) => id)).not.toContain(ownerId);
  });

  it('stays when it has shown a sign of life meanwhile', async () => {
    const stage = new Stage();
    const beta = new FaultyMachine('beta');
    const silent = await stage.process({ machine: beta });
    await silent.manager.session({ ...KEY, policy: { onExit: 'keep' } });
    const ownerId = await ownerOf(stage, silent);
    silent.kill();
    const { manager } = await stage.process({
      ports: ({ store }) => ({
        store: new Proxy(store, {
          get: (target, name) =>
            name === 'removeOwner'
              ? async (id: string, heartbeatAt: number) => {
                  await target.heartbeat(id, heartbeatAt + 1);
                  return target.removeOwner(id, heartbeatAt);
                }
              : Reflect.get(target, name),
        }),
      }),
    });
    await stage.clock.advance(10 * MINUTE);
    await manager.sweep();
    expect((await stage.store.listOwners()).map(({ id }) => id)).toContain(ownerId);
  });
});

describe('a living process', () => {
  it('loses nothing to a sweep of its neighbour, whatever is due', async () => {
    const stage = new Stage();
    const living = await stage.process({
      policy: { onExit: 'destroy', autoStopMinutes: 1 },
      manager: { sweepIntervalMs: 0 },
    });
    await living.manager.session(KEY);
    void living.manager.ephemeral({}, () => new Promise(() => {})).catch(() => {});
    await settle();
    stage.world.plan('create', { type: 'slow', ms: 20 * MINUTE });
    void living.manager.session({ ...KEY, task: 'slow', policy: { timeoutSeconds: 3_600 } }).catch(() => {});
    await settle();
    const { manager } = await stage.process();
    await stage.clock.advance(3 * MINUTE);
    expect((await manager.reap()).verdicts.map(({ action }) => action)).toEqual(['keep', 'keep', 'keep']);
    expect(stage.world.boxes).toHaveLength(2);
  });

  it.each([365 * 24 * 60 * MINUTE, -365 * 24 * 60 * MINUTE])(
    'loses nothing when the clock is set by %i ms, with policies due too',
    async (jumpMs) => {
      const stage = new Stage();
      const processes = [await stage.process(), await stage.process({ machine: new FaultyMachine('beta') })];
      for (const [index, { manager }] of processes.entries()) await manager.session({ ...KEY, task: `t${index}` });
      stage.clock.jump(jumpMs);
      for (const { manager } of processes) await manager.sweep();
      await stage.clock.advance(5 * MINUTE);
      for (const { manager } of processes) await manager.sweep();
      expect(stage.world.boxes.map((box) => box.state)).toEqual(['running', 'running']);
      expect(await stage.store.listOwners()).toHaveLength(2);
    },
  );
});

describe('many and slow', () => {
  it('does the rest in the next pass when there is more than one pass does', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    await dead.manager.session(KEY);
    const ownerId = await ownerOf(stage, dead);
    for (let index = 0; index < 5_001; index++) await rowIn(stage, 'running', { ownerId, ephemeral: true });
    dead.kill();
    const { manager } = await stage.process({ manager: { reconcileIntervalMs: 0 } });
    await manager.sweep();
    const left = await stage.store.countSandboxes({ states: ['running'], ephemeral: true });
    expect(left.execution).toBeGreaterThan(0);
    await manager.sweep();
    expect(stage.world.boxes.filter((box) => box.spec.ephemeral)).toEqual([]);
    expect((await stage.store.listOwners()).map(({ id }) => id)).not.toContain(ownerId);
  });

  it('reaches what is behind thousands that are only to be kept', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    await dead.manager.session(KEY);
    const ownerId = await ownerOf(stage, dead);
    for (let index = 0; index < 5_100; index++) await rowIn(stage, 'paused', { ownerId, id: `sbx_0${index}` });
    const last = await rowIn(stage, 'running', { ownerId, ephemeral: true, id: 'sbx_zz' });
    dead.kill();
    const { manager } = await stage.process({ manager: { reconcileIntervalMs: 0 } });
    await manager.sweep();
    // What the first change set off in the background may have been faster at some of them.
    await manager.close();
    expect((await stage.row(last)).state).toBe('destroyed');
  });

  it.each(['stuck', 'refused'] as const)('goes on with other providers while one is %s', async (type) => {
    const stage = new Stage();
    const slow = new FaultyWorld(stage.clock);
    const ports = withProviders({ slow });
    const dead = await stage.process({ ports });
    for (const sandbox of ['slow', 'default'])
      for (let n = 0; n < 20; n++) void dead.manager.ephemeral({ sandbox }, () => new Promise(() => {}));
    await settle();
    dead.kill();
    slow.plan('destroy', ...Array.from({ length: 100 }, () => ({ type })));
    const { manager } = await stage.process({ ports });
    const sweeping = manager.sweep();
    await settle();
    expect(stage.world.boxes).toEqual([]);
    expect(slow.boxes).toHaveLength(20);
    expect(slow.calls.destroy).toBe(8);
    await stage.passing(sweeping, 2 * MINUTE);
    slow.heal();
    await stage.clock.advance(20 * MINUTE);
    expect(slow.boxes).toEqual([]);
  });

  it('goes on with other providers when one cannot even be opened', async () => {
    const stage = new Stage();
    const other = new FaultyWorld(stage.clock);
    const dead = await stage.process({ ports: withProviders({ other }) });
    for (const sandbox of ['other', 'default']) void dead.manager.ephemeral({ sandbox }, () => new Promise(() => {}));
    await settle();
    dead.kill();
    const { manager } = await stage.process({
      ports: (ports) => ({
        provider: async (id, profile) =>
          id === 'other' ? Promise.reject(new Error('no key for it')) : ports.provider(id, profile),
      }),
    });
    await manager.sweep();
    expect(stage.world.boxes).toEqual([]);
    expect(other.boxes).toHaveLength(1);
    expect(await stage.store.listOwners()).toHaveLength(2);
    const { verdicts } = await manager.reap({ dryRun: true });
    expect(verdicts).toMatchObject([{ action: 'keep', reason: expect.stringContaining('no key for it') }]);
  });

  it('acts once when several do it at the same time', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    for (let n = 0; n < 20; n++) void dead.manager.ephemeral({}, () => new Promise(() => {}));
    await dead.manager.session({ ...KEY, policy: { onExit: 'pause' } });
    await settle();
    dead.kill();
    const processes = await Promise.all([1, 2, 3, 4].map(() => stage.process()));
    await Promise.all(processes.map(({ manager }) => manager.sweep()));
    expect(stage.world.calls.destroy).toBe(20);
    expect(stage.world.calls.pause).toBe(1);
    const events = await stage.store.listEvents({});
    expect(events.filter(({ type }) => type === 'owner.died')).toHaveLength(1);
  });

  it('is left by a process that is killed on the way for the next to find', async () => {
    const stage = new Stage();
    const first = await stage.process();
    for (let n = 0; n < 30; n++) void first.manager.ephemeral({}, () => new Promise(() => {}));
    await settle();
    first.kill();
    const second = await stage.process();
    stage.world.plan('destroy', ...Array.from({ length: 4 }, () => ({ type: 'slow', ms: SECOND }) as const));
    void second.manager.sweep();
    await settle();
    second.kill();
    expect(stage.world.boxes.length).toBeGreaterThan(0);
    await (await stage.process()).manager.sweep();
    expect(stage.world.boxes).toEqual([]);
    expect(await stage.store.countSandboxes({ states: ['running', 'destroying'] })).toMatchObject({ execution: 0 });
  });

  it('does not keep a process from leaving', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    for (let n = 0; n < 30; n++) void dead.manager.ephemeral({}, () => new Promise(() => {}));
    await settle();
    dead.kill();
    stage.world.plan('destroy', ...Array.from({ length: 30 }, () => ({ type: 'slow', ms: 4 * SECOND }) as const));
    const { manager } = await stage.process();
    await manager.session(KEY);
    await stage.passing(manager.close(), 15 * SECOND);
    expect(stage.world.boxes.find((box) => !box.spec.ephemeral)?.state).toBe('paused');
  });
});

it('says whether one owner was seen to, and leaves it alone while it lives', async () => {
  const stage = new Stage();
  const other = await stage.process();
  const { sandboxId } = await other.manager.session(KEY);
  const ownerId = await ownerOf(stage, other);
  const { manager } = await stage.process();
  expect(await manager.recoverOwner(ownerId)).toBe(false);
  expect((await stage.row(sandboxId)).state).toBe('running');
  other.kill();
  expect(await manager.recoverOwner(ownerId)).toBe(true);
  expect((await stage.row(sandboxId)).state).toBe('paused');
  expect(await manager.recoverOwner(ownerId)).toBe(true);
});

async function ownerOf(stage: Stage, { ports }: StageProcess): Promise<string> {
  const { pid, hostId } = ports.identity;
  return (await stage.store.listOwners()).find((owner) => owner.pid === pid && owner.hostId === hostId)?.id ?? 'none';
}

/** A row and, where the provider would have something, its sandbox. */
async function rowIn(
  stage: Stage,
  state: SandboxState,
  fields: { readonly ownerId: string; readonly ephemeral?: boolean; readonly id?: string },
): Promise<string> {
  const id = fields.id ?? newId('sbx');
  const name = providerName(id);
  stage.world.add({ name, labels: {}, kind: 'execution', network: 'open', ephemeral: fields.ephemeral ?? false });
  await sandboxIn(stage.store, state, { provider: 'faulty', ...fields, id, name });
  return id;
}
