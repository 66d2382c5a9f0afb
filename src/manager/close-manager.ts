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
  const isDone = await settlesWithin(clock, engine.config.exitDeadlineMs, leave(engine));
  if (!isDone)
    log.warn(
      { left: [...engine.lives.keys()], deadlineMs: engine.config.exitDeadlineMs },
      'closed before everything was put away',
    );
  if (engine.isRegistered && isDone)
    await quietly(engine, 'owner not removed', engine.ports.store.removeOwner(engine.ownerId));
  await quietly(engine, 'ports not closed', engine.config.onClose());
}

/** What is to be done with a sandbox on exit, given what its provider can: what cannot pause is stopped, what cannot stop is kept. */
export function exitActionFor(record: SandboxRecord, capabilities: ReadonlySet<Capability>): ExitAction | 'stop' {
  if (record.ephemeral) return 'destroy';
  if (record.policy.onExit !== 'pause' || capabilities.has('pause')) return record.policy.onExit;
  return capabilities.has('stop') ? 'stop' : 'keep';
}

async function leave(engine: Engine): Promise<void> {
  // Creates are undone and ephemeral runs destroyed by whoever began them.
  await engine.drained();
  await Promise.all(
    [...engine.leases].map((lease) => quietly(engine, 'lease not released', lease.release('its holder exited'))),
  );
  await quietly(engine, 'activity not written', flushActivity(engine));
  await Promise.all([...engine.lives.keys()].map((id) => quietly(engine, 'sandbox not put away', putAway(engine, id))));
  await Promise.all([...engine.lives.keys()].map((id) => engine.letGo(id)));
  await quietly(engine, 'counters not written', flushActivity(engine));
}

async function putAway(engine: Engine, id: SandboxId): Promise<void> {
  const record = await engine.ports.store.getSandbox(id);
  // Another process has picked it up since: it follows that one now.
  if (record === undefined || record.state !== 'running' || record.ownerId !== engine.ownerId) return;
  // Somebody else has the exclusive use of it.
  if ((await engine.leaseWatch.standing(record, engine.now())) !== undefined) return;
  const live = engine.lives.get(id);
  if (live?.isKept === true || (await giveBack(engine, id, live?.takenFrom))) return;
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

/** False when the process it was taken from has left meanwhile: then this is the last one, and its exit counts. */
async function giveBack(engine: Engine, id: SandboxId, takenFrom: OwnerId | undefined): Promise<boolean> {
  const owner = takenFrom === undefined ? undefined : await engine.ports.store.getOwner(takenFrom);
  if (owner === undefined) return false;
  await engine.ports.store.patchSandbox(id, {
    ownerId: owner.id,
    hostId: owner.hostId,
    hostName: owner.hostName,
  });
  return true;
}

async function quietly(engine: Engine, what: string, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (cause) {
    engine.ports.log.warn({ error: describe(cause) }, what);
  }
}
