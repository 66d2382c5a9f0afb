/** What a provider has and no record claims is destroyed, after two sightings and a grace period, and nothing else is touched. */
import { describe, expect, it } from 'vitest';
import { newId, providerName } from '../core/ids.ts';
import { ORPHAN_GRACE_MS } from '../core/recovery.ts';
import { LABEL } from '../core/spec.ts';
import type { Labels } from '../core/spec.ts';
import type { FaultyBox } from '../testing/index.ts';
import { settle } from '../testing/index.ts';
import { MINUTE, Stage } from '../../test/setup/stage.ts';

const KEY = { user: 'ada', task: 'thesis' };

describe('an orphan', () => {
  it('is only watched at first, and destroyed when it is seen again after the grace period', async () => {
    const { stage, manager } = await alone();
    const orphan = await addOrphan(stage);
    expect((await manager.reap()).verdicts).toMatchObject([
      { name: orphan.name, sandboxId: undefined, action: 'watch', reason: expect.stringContaining('seen once') },
    ]);
    await stage.clock.advance(ORPHAN_GRACE_MS / 2);
    expect((await manager.reap()).verdicts).toMatchObject([{ action: 'watch' }]);
    await stage.clock.advance(ORPHAN_GRACE_MS / 2);
    expect((await manager.reap()).verdicts).toMatchObject([{ action: 'destroy' }]);
    expect(stage.world.boxes).toEqual([]);
  });

  it('is on record from the moment it is destroyed, with why', async () => {
    const { stage, manager } = await alone();
    const orphan = await addOrphan(stage);
    await reapTwice(stage, manager);
    const [row] = await stage.store.findSandboxes({ states: ['destroyed'] });
    expect(row).toMatchObject({ id: orphan.labels[LABEL.sandbox], name: orphan.name, provider: 'faulty' });
    expect(row?.cause).toMatch(/no record claims it: an orphan, seen 3 times/);
    const types = (await manager.events({ sandboxId: row?.id ?? '' })).map(({ type }) => type);
    expect(types).toEqual(['sandbox.creating', 'sandbox.destroying', 'orphan.found', 'sandbox.destroyed']);
  });

  it('begins anew when a pass in between did not see it', async () => {
    const { stage, manager } = await alone();
    const orphan = await addOrphan(stage);
    await manager.reap();
    stage.world.remove(orphan.name);
    await manager.reap();
    stage.world.add(orphan.spec);
    await stage.clock.advance(ORPHAN_GRACE_MS);
    expect((await manager.reap()).verdicts).toMatchObject([{ action: 'watch' }]);
  });

  it('is not forgotten by a pass in which the provider did not answer', async () => {
    const { stage, manager } = await alone();
    await addOrphan(stage);
    await manager.reap();
    await stage.clock.advance(ORPHAN_GRACE_MS);
    stage.world.plan('list', { type: 'refused' });
    expect((await manager.reap()).providers).toMatchObject([{ error: expect.stringContaining('refused') }]);
    expect((await manager.reap()).verdicts).toMatchObject([{ action: 'destroy' }]);
  });

  it('is found by itself, without being asked for', async () => {
    const { stage } = await alone();
    await addOrphan(stage);
    await stage.clock.advance(10 * MINUTE);
    expect(stage.world.boxes).toEqual([]);
  });

  it('is found on the last of many pages', async () => {
    const { stage, manager } = await alone();
    const sessions = await Promise.all(
      Array.from({ length: 9 }, (_, task) =>
        manager.session({ user: 'ada', task: `t${task}`, policy: { autoStopMinutes: 0 } }),
      ),
    );
    await addOrphan(stage);
    await reapTwice(stage, manager);
    expect(stage.world.boxes.map((box) => box.labels[LABEL.sandbox])).toEqual(
      sessions.map(({ sandboxId }) => sandboxId),
    );
  });

  it('without our label for its id is destroyed too, by its name', async () => {
    const { stage, manager } = await alone();
    await addOrphan(stage, { [LABEL.sandbox]: undefined });
    await reapTwice(stage, manager);
    expect(stage.world.boxes).toEqual([]);
  });

  it('is destroyed once by two that find it at the same time', async () => {
    const { stage, manager } = await alone();
    const { manager: other } = await stage.process();
    await addOrphan(stage);
    await manager.reap();
    await stage.clock.advance(ORPHAN_GRACE_MS);
    await Promise.all([manager.reap(), other.reap()]);
    expect(stage.world.calls.destroy).toBe(1);
    expect(stage.world.boxes).toEqual([]);
  });

  it('goes with all others of its name', async () => {
    const { stage, manager } = await alone();
    const orphan = await addOrphan(stage);
    stage.world.add(orphan.spec);
    await reapTwice(stage, manager);
    expect(stage.world.boxes).toEqual([]);
  });

  it('stays on record for the next pass when the provider does not destroy it', async () => {
    const { stage, manager } = await alone();
    await addOrphan(stage);
    await manager.reap();
    await stage.clock.advance(ORPHAN_GRACE_MS);
    stage.world.plan('destroy', { type: 'refused' });
    expect((await manager.reap()).verdicts).toMatchObject([{ action: 'destroy', error: expect.any(String) }]);
    expect(await stage.store.findSandboxes({ states: ['destroying'] })).toHaveLength(1);
    await stage.clock.advance(5 * MINUTE);
    expect(stage.world.boxes).toEqual([]);
  });

  it('that was never finished with by a killed reaper is finished by the next', async () => {
    const stage = new Stage();
    const first = await stage.process();
    await first.manager.run('true');
    await addOrphan(stage);
    await first.manager.reap();
    await stage.clock.advance(ORPHAN_GRACE_MS);
    stage.world.plan('destroy', { type: 'stuck' });
    void first.manager.reap();
    await settle();
    first.kill();
    await (await stage.process()).manager.sweep();
    expect(stage.world.boxes).toEqual([]);
  });
});

describe('what is on record as destroyed', () => {
  it('is destroyed again when the provider turns out to have it still', async () => {
    const { stage, manager } = await alone();
    const { sandboxId } = await manager.session(KEY);
    stage.world.plan('destroy', { type: 'phantom-not-found' });
    await manager.sandboxes.destroy(sandboxId);
    expect(stage.world.boxes).toHaveLength(1);
    await reapTwice(stage, manager);
    expect(stage.world.boxes).toEqual([]);
    expect(await stage.row(sandboxId)).toMatchObject({ state: 'destroyed', cause: expect.stringContaining('orphan') });
  });

  it('and finished late at the provider does not stay', async () => {
    const stage = new Stage();
    const dead = await stage.process();
    stage.world.plan('create', { type: 'slow', ms: 10 * MINUTE });
    void dead.manager.session(KEY);
    await settle();
    dead.kill();
    const { manager } = await stage.process();
    await manager.sweep();
    await stage.clock.advance(9 * MINUTE);
    expect(stage.world.boxes).toEqual([]);
    await stage.clock.advance(MINUTE);
    expect(stage.world.boxes).toHaveLength(1);
    await stage.clock.advance(15 * MINUTE);
    expect(stage.world.boxes).toEqual([]);
  });
});

describe('what is not touched', () => {
  it('is what another installation made', async () => {
    const { stage, manager } = await alone();
    await addOrphan(stage, { [LABEL.installation]: 'ins_foreign' });
    stage.world.add({ name: 'by-hand', labels: {}, kind: 'execution', network: 'open', ephemeral: false });
    expect((await reapTwice(stage, manager)).verdicts).toEqual([]);
    expect(stage.world.boxes).toHaveLength(2);
  });

  it('is what another installation has at a provider that filters loosely', async () => {
    const stage = new Stage();
    const { manager } = await stage.process({
      ports: (ports) => ({
        provider: async (id, profile) => {
          const provider = await ports.provider(id, profile);
          return new Proxy(provider, {
            get: (target, name) =>
              name === 'list' ? (_: Labels, signal: AbortSignal) => target.list({}, signal) : Reflect.get(target, name),
          });
        },
      }),
    });
    await manager.run('true');
    await addOrphan(stage, { [LABEL.installation]: 'ins_foreign' });
    await reapTwice(stage, manager);
    expect(stage.world.boxes).toHaveLength(1);
  });

  it('is what a living process may be about to record', async () => {
    const { stage, manager } = await alone();
    const living = await stage.process();
    await living.manager.session(KEY);
    const owners = await stage.store.listOwners();
    const owner = owners.find(({ pid }) => pid === living.ports.identity.pid);
    await addOrphan(stage, { [LABEL.owner]: owner?.id });
    const { verdicts } = await reapTwice(stage, manager);
    expect(verdicts.find(({ sandboxId }) => sandboxId === undefined)).toMatchObject({
      action: 'keep',
      reason: expect.stringContaining('may still be at it'),
    });
    expect(stage.world.boxes).toHaveLength(2);
    living.kill();
    await reapTwice(stage, manager);
    expect(stage.world.boxes).toHaveLength(1);
  });

  it('is what has a row by the time it is looked for', async () => {
    const { stage, manager } = await alone();
    stage.world.plan('list', { type: 'slow', ms: 10_000 });
    const reaping = manager.reap();
    await settle();
    const other = await stage.process();
    const { sandboxId } = await other.manager.session(KEY);
    const { verdicts } = await stage.passing(reaping);
    expect(verdicts).toMatchObject([{ sandboxId, action: 'keep' }]);
  });
});

it('is not waited for longer because the clock was ahead when it was first seen', async () => {
  const { stage, manager } = await alone();
  await addOrphan(stage);
  stage.clock.jump(365 * 24 * 60 * MINUTE);
  await (await stage.process()).manager.reap();
  stage.clock.jump(-365 * 24 * 60 * MINUTE);
  await reapTwice(stage, manager);
  expect(stage.world.boxes).toEqual([]);
});

/** A process that has made something before, so that there is a provider to look at. */
async function alone(): Promise<{ stage: Stage; manager: Awaited<ReturnType<Stage['process']>>['manager'] }> {
  const stage = new Stage();
  const { manager } = await stage.process();
  await manager.run('true');
  stage.world.calls.destroy = 0;
  return { stage, manager };
}

async function reapTwice(
  stage: Stage,
  manager: Awaited<ReturnType<Stage['process']>>['manager'],
): ReturnType<typeof manager.reap> {
  await manager.reap();
  await stage.clock.advance(ORPHAN_GRACE_MS);
  return manager.reap();
}

async function addOrphan(stage: Stage, labels: Partial<Record<string, string | undefined>> = {}): Promise<FaultyBox> {
  const id = newId('sbx');
  const all = {
    [LABEL.installation]: await stage.store.installation(),
    [LABEL.sandbox]: id,
    [LABEL.owner]: 'own_forgotten',
    ...labels,
  };
  const carried = Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return stage.world.add({
    name: providerName(id),
    labels: carried,
    kind: 'execution',
    network: 'open',
    ephemeral: true,
  });
}
