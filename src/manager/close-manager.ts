/** Leaving: everything this process holds follows its policy's `onExit`, within a deadline. */
import type { SandboxId } from '../core/ids.ts';
import { NOBODY } from '../core/ids.ts';
import type { ExitAction } from '../core/policy.ts';
import type { Capability } from '../provider/capabilities.ts';
import type { SandboxRecord } from '../store/records.ts';
import { flushActivity } from './activity.ts';
import { contain } from './contain.ts';
import { settlesWithin } from './deadline.ts';
import { destroySandbox } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { giveTo, livingHeir, livingOwner } from './heirs.ts';
import { isReplaced } from './is-replaced.ts';
import { pauseSandbox, stopSandbox } from './move-sandbox.ts';
import { leavePools } from './pools/leave-pools.ts';
import { recordEnd } from './record-end.ts';

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
  await quietly(engine, 'pools not left', leavePools(engine));
  // What was used once is destroyed behind its holder's back.
  await engine.drained();
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
  await leavePools(engine);
}

async function putAway(engine: Engine, id: SandboxId, seen: Set<SandboxId>): Promise<void> {
  // Again when the row has changed meanwhile: another process may have picked it up, and then it follows that one.
  for (let isDone = false; !isDone;) {
    const record = await engine.ports.store.getSandbox(id);
    if (record === undefined || record.state !== 'running' || record.ownerId !== engine.ownerId) return;
    if (record.pool !== undefined) return;
    seen.add(id);
    if (engine.lives.get(id)?.isDoubted === true && (await recordEnd(engine, record))) return;
    isDone = await leaveOne(engine, record);
  }
}

/** False when the row is no longer as it was read. */
async function leaveOne(engine: Engine, record: SandboxRecord): Promise<boolean> {
  if (!record.ephemeral && (await isReplaced(engine, record))) {
    await contain(engine, record);
    return true;
  }
  const live = engine.lives.get(record.id);
  // Whoever has the exclusive use of it, or had it before us.
  const lease = await engine.leaseWatch.standing(record, engine.now());
  const isKept = live?.isKept === true;
  const holder = lease && (await livingOwner(engine, lease.ownerId));
  const heir = holder ?? (isKept ? undefined : await livingHeir(engine, record));
  if (heir !== undefined) return giveTo(engine, record, heir);
  return isKept ? keepRunning(engine, record) : exit(engine, record);
}

async function exit(engine: Engine, record: SandboxRecord): Promise<boolean> {
  const { capabilities } = await engine.ports.provider(record.provider, record.profile);
  const [cause, only] = ['its owner exited', { version: record.version }];
  switch (exitActionFor(record, capabilities)) {
    case 'destroy':
      return (await destroySandbox(engine, record, cause, only)) !== undefined;
    case 'pause':
      return (await pauseSandbox(engine, record, cause, only)) !== undefined;
    case 'stop':
      return (await stopSandbox(engine, record, cause, only)) !== undefined;
    case 'keep':
      if (record.policy.onExit !== 'keep')
        engine.ports.log.warn(
          { sandboxId: record.id, provider: record.provider },
          'sandbox kept running: its provider can neither pause nor stop',
        );
      return keepRunning(engine, record);
  }
}

/** On purpose, and written down as that: what runs and belongs to somebody who is gone was not put away. */
async function keepRunning(engine: Engine, { id, version }: SandboxRecord): Promise<boolean> {
  return (await engine.ports.store.patchSandbox(id, { ownerId: NOBODY, heirs: [] }, version)) !== undefined;
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
