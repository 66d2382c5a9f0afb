/** Leaving: everything this process holds follows its policy's `onExit`, within a deadline. */
import type { OwnerId, SandboxId } from '../core/ids.ts';
import type { ExitAction } from '../core/policy.ts';
import type { Capability } from '../provider/capabilities.ts';
import type { SandboxRecord } from '../store/records.ts';
import { flushActivity } from './activity.ts';
import { settlesWithin } from './deadline.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { pauseSandbox, stopSandbox } from './move-sandbox.ts';

/** Never rejects: what could not be done in time is logged with its id. */
export async function closeManager(engine: Engine): Promise<void> {
  const { clock, log } = engine.ports;
  engine.beginClosing();
  const seen = new Set<SandboxId>();
  const isDone = await settlesWithin(clock, engine.config.exitDeadlineMs, leave(engine, seen));
  if (!isDone)
    log.warn(
      { left: [...engine.lives.keys()], deadlineMs: engine.config.exitDeadlineMs },
      'closed before everything was put away',
    );
  const hasLeft =
    !engine.isRegistered ||
    (isDone && (await quietly(engine, 'owner not removed', engine.ports.store.removeOwner(engine.ownerId))));
  if (hasLeft && engine.isRegistered) await quietly(engine, 'sandbox not put away', putAwayReturned(engine, seen));
  await quietly(engine, 'ports not closed', engine.config.onClose(hasLeft));
}

/** What is to be done with a sandbox on exit, given what its provider can: what cannot pause is stopped, what cannot stop is kept. */
export function exitActionFor(record: SandboxRecord, capabilities: ReadonlySet<Capability>): ExitAction | 'stop' {
  if (record.ephemeral) return 'destroy';
  if (record.policy.onExit !== 'pause' || capabilities.has('pause')) return record.policy.onExit;
  return capabilities.has('stop') ? 'stop' : 'keep';
}

async function leave(engine: Engine, seen: Set<SandboxId>): Promise<void> {
  // Creates are undone and ephemeral runs destroyed by whoever began them.
  await engine.drained();
  await Promise.all(
    [...engine.leases].map((lease) => quietly(engine, 'lease not released', lease.release('its holder exited'))),
  );
  await quietly(engine, 'activity not written', flushActivity(engine));
  await Promise.all(
    [...engine.lives.keys()].map((id) => quietly(engine, 'sandbox not put away', putAway(engine, id, seen))),
  );
  await Promise.all([...engine.lives.keys()].map((id) => engine.letGo(id)));
  await quietly(engine, 'counters not written', flushActivity(engine));
}

/** Whoever handed one over to us while we were leaving saw us on record; who would do so now sees that we are not. */
async function putAwayReturned(engine: Engine, seen: Set<SandboxId>): Promise<void> {
  const { ownerId } = engine;
  const rows = await engine.ports.store.findSandboxes({ ownerId, states: ['running'] });
  for (const { id } of rows) if (!seen.has(id)) await putAway(engine, id, seen);
}

async function putAway(engine: Engine, id: SandboxId, seen: Set<SandboxId>): Promise<void> {
  const record = await engine.ports.store.getSandbox(id);
  // Another process has picked it up since: it follows that one now.
  if (record === undefined || record.state !== 'running' || record.ownerId !== engine.ownerId) return;
  seen.add(id);
  const live = engine.lives.get(id);
  if (live?.isKept === true) return;
  // Whoever has the exclusive use of it, or had it before us.
  const lease = await engine.leaseWatch.standing(record, engine.now());
  for (const heir of [lease?.ownerId, live?.takenFrom])
    if (heir !== undefined && (await handOver(engine, id, heir))) return;
  const { capabilities } = await engine.ports.provider(record.provider, record.profile);
  const action = exitActionFor(record, capabilities);
  switch (action) {
    case 'destroy':
      await destroySandbox(engine, record, 'its owner exited');
      return;
    case 'pause':
      await pauseSandbox(engine, record, 'its owner exited');
      return;
    case 'stop':
      await stopSandbox(engine, record, 'its owner exited');
      return;
    case 'keep':
      if (record.policy.onExit === 'keep') return;
      engine.ports.log.warn(
        { sandboxId: id, provider: record.provider },
        'sandbox kept running: its provider can neither pause nor stop',
      );
  }
}

/** False when that process has left or died: then this is the last one, and its exit counts. */
async function handOver(engine: Engine, id: SandboxId, heir: OwnerId): Promise<boolean> {
  const { store } = engine.ports;
  const owner = heir === engine.ownerId ? undefined : await store.getOwner(heir);
  if (owner === undefined || (await engine.owners.judge(owner.id)) === 'dead') return false;
  const { hostId, hostName } = owner;
  await store.patchSandbox(id, { ownerId: owner.id, hostId, hostName });
  if ((await store.getOwner(owner.id)) !== undefined) return true;
  await store.patchSandbox(id, engine.ownership);
  return false;
}

/** False when it failed, which is logged. */
async function quietly(engine: Engine, what: string, work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (cause) {
    engine.ports.log.warn({ error: describe(cause) }, what);
    return false;
  }
}
