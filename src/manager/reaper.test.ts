/** Everything put together: who compares when, what a dry run says, and what one machine does about another's. */
import { describe, expect, it } from 'vitest';
import { ORPHAN_GRACE_MS } from '../core/recovery.ts';
import { LABEL } from '../core/spec.ts';
import { FaultyMachine, FaultyWorld, settle } from '../testing/index.ts';
import { MINUTE, SECOND, Stage, withProviders } from '../../test/setup/stage.ts';
import type { StageProcess } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };

describe('a comparison', () => {
  it('is made by one of many processes in each interval', async () => {
    const stage = new Stage();
    const processes = await Promise.all([1, 2, 3, 4].map(() => stage.process()));
    await processes[0]?.manager.run('true');
    await stage.clock.advance(30 * MINUTE);
    // 30 minutes hold ten intervals; a page of the list is never more than this world has.
    expect(stage.world.calls.list).toBeLessThanOrEqual(11);
    expect(stage.world.calls.list).toBeGreaterThanOrEqual(7);
  });

  it('is made by another when the one whose turn it is has died', async () => {
    const stage = new Stage();
    const first = await stage.process();
    await first.manager.run('true');
    await stage.clock.advance(MINUTE);
    first.kill();
    const before = stage.world.calls.list;
    await stage.process();
    await stage.clock.advance(5 * MINUTE);
    expect(stage.world.calls.list).toBeGreaterThan(before);
  });

  it('of one provider is not kept waiting by another that hangs', async () => {
    const stage = new Stage();
    const slow = new FaultyWorld(stage.clock);
    const { manager } = await stage.process({ ports: withProviders({ slow }), manager: { sweepIntervalMs: 0 } });
    await manager.run('true', { sandbox: 'slow' });
    await manager.run('true');
    await addOrphan(stage);
    slow.plan('list', { type: 'stuck' }, { type: 'stuck' });
    const first = manager.reap();
    await settle();
    expect(await stage.store.ledger.sightings('orphan:faulty/default')).toHaveLength(1);
    const { providers } = await stage.passing(first, 10 * MINUTE);
    expect(providers).toMatchObject([
      { provider: 'slow', error: expect.stringContaining('did not list its sandboxes') },
      { provider: 'faulty', listed: 1 },
    ]);
    void stage.passing(manager.reap(), 0);
    await settle();
    expect(stage.world.boxes).toEqual([]);
  });

  it('reads every page once', async () => {
    const stage = new Stage();
    const { manager } = await stage.process({ pageSize: 10 });
    await Promise.all(Array.from({ length: 95 }, (_, task) => manager.session({ user: 'ada', task: `t${task}` })));
    expect((await manager.reap()).providers).toMatchObject([{ listed: 95 }]);
    expect(stage.world.calls.list).toBe(10);
  });
});

describe('a dry run', () => {
  it('says what a run says, and does and writes nothing', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    const kept = await dead.manager.session({ ...KEY, task: 'kept', policy: { onExit: 'keep' } });
    await dead.manager.session(KEY);
    await dead.manager.session({ ...KEY, task: 'gone' });
    void dead.manager.ephemeral({}, () => new Promise(() => {}));
    await settle();
    await addOrphan(stage);
    await stage.clock.advance(SECOND);
    stage.world.lose((await stage.row(kept.sandboxId)).name);
    dead.kill();
    const { manager } = await stage.process({ manager: { sweepIntervalMs: 0 } });
    for (let pass = 0; pass < 3; pass++) {
      const before = await written(stage);
      const said = await manager.reap({ dryRun: true });
      expect(await written(stage)).toEqual(before);
      const done = await manager.reap();
      expect([said.dryRun, done.dryRun]).toEqual([true, false]);
      expect(inOrder(said.verdicts)).toEqual(inOrder(done.verdicts));
      await stage.clock.advance(ORPHAN_GRACE_MS);
    }
    expect(stage.world.boxes.map((box) => box.state)).toEqual(['paused', 'paused']);
  });

  it('has a word for everything that is kept, and why', async () => {
    const stage = new Stage();
    const living = await stage.process();
    await living.manager.session(KEY);
    const { manager } = await stage.process();
    await manager.session({ ...KEY, task: 'mine' });
    const { verdicts } = await manager.reap({ dryRun: true });
    expect(verdicts.map(({ reason }) => reason).toSorted()).toEqual(['its owner lives', 'this process has it']);
  });
});

describe('a sandbox that only its own machine reaches', () => {
  it('is refused from another, by the name of the host, and not changed', async () => {
    const { stage, beta, sandboxId } = await onTwoHosts();
    const before = await stage.row(sandboxId);
    const refused = { code: 'WRONG_HOST', message: expect.stringContaining('host "alpha"') };
    const { sandboxes } = beta.manager;
    await expect(beta.manager.session(KEY)).rejects.toMatchObject(refused);
    await expect(sandboxes.open(sandboxId)).rejects.toMatchObject(refused);
    await expect(sandboxes.pause(sandboxId)).rejects.toMatchObject(refused);
    await expect(sandboxes.stop(sandboxId)).rejects.toMatchObject(refused);
    await expect(sandboxes.destroy(sandboxId)).rejects.toMatchObject(refused);
    await expect(sandboxes.metrics(sandboxId)).rejects.toMatchObject(refused);
    expect(await stage.row(sandboxId)).toEqual(before);
  });

  it('is not counted or sought from another, alive or dead', async () => {
    const { stage, alpha, beta, sandboxId } = await onTwoHosts();
    expect((await beta.manager.reap()).verdicts).toEqual([]);
    alpha.kill();
    await stage.clock.advance(10 * MINUTE);
    expect((await beta.manager.reap()).verdicts).toMatchObject([
      { sandboxId, action: 'keep', reason: 'it lives on host "alpha": a Sublet there sees to it' },
    ]);
    expect((await stage.row(sandboxId)).state).toBe('running');
    expect(await stage.store.getOwner((await stage.row(sandboxId)).ownerId)).toBeDefined();
    const again = await stage.process({ boundToHost: true });
    await again.manager.sweep();
    expect((await stage.row(sandboxId)).state).toBe('paused');
  });

  it('is compared on each machine, whoever had the turn on another', async () => {
    const { stage, world } = await onTwoHosts();
    await stage.clock.advance(4 * MINUTE);
    expect(stage.world.calls.list).toBeGreaterThan(0);
    expect(world.calls.list).toBeGreaterThan(0);
  });
});

async function onTwoHosts(): Promise<{
  readonly stage: Stage;
  readonly alpha: StageProcess;
  readonly beta: StageProcess;
  readonly world: FaultyWorld;
  readonly sandboxId: string;
}> {
  const stage = new Stage();
  const world = new FaultyWorld(stage.clock);
  const alpha = await stage.process({ boundToHost: true, policy: { autoStopMinutes: 0 } });
  const { sandboxId } = await alpha.manager.session(KEY);
  const beta = await stage.process({ boundToHost: true, world, machine: new FaultyMachine('beta') });
  return { stage, alpha, beta, world, sandboxId };
}

async function addOrphan(stage: Stage): Promise<void> {
  const labels = { [LABEL.installation]: await stage.store.installation() };
  stage.world.add({ name: 'sublet-orphan', labels, kind: 'execution', network: 'open', ephemeral: false });
}

async function written(stage: Stage): Promise<unknown> {
  const { store } = stage;
  const sightings = await Promise.all(
    ['orphan', 'missing'].map((what) => store.ledger.sightings(`${what}:faulty/default`)),
  );
  return {
    rows: await store.findSandboxes({}),
    owners: await store.listOwners(),
    events: await store.listEvents({}),
    sightings,
  };
}

function inOrder(verdicts: readonly { readonly name: string }[]): readonly unknown[] {
  return verdicts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
