/** Leases on Postgres. */
import type { NewEvent } from '../../core/events.ts';
import type { SandboxId } from '../../core/ids.ts';
import {
  handOverEvents,
  handedOver,
  leasedEvents,
  leasedSandbox,
  releasedEvent,
  releasedSandbox,
  renewedSandbox,
} from '../../store/changes.ts';
import type { Leases } from '../../store/leases.ts';
import type { SandboxRecord } from '../../store/records.ts';
import { checkKey } from '../../store/refusals.ts';
import type { Connections } from './connections.ts';
import { insertEvents } from './tables/events.ts';
import { lockSandbox, lockSandboxes, updateSandbox } from './tables/sandboxes.ts';
import { lockSession, updateSession } from './tables/sessions.ts';

export function postgresLeases(connections: Connections): Leases {
  return {
    acquire: (id, wish) =>
      changeSandbox(
        connections,
        id,
        (before) => leasedSandbox(before, wish),
        (before, after) => leasedEvents(before, after, wish.at),
      ),
    renew: (id, token, at) =>
      changeSandbox(
        connections,
        id,
        (before) => renewedSandbox(before, token, at),
        () => [],
      ),
    release: (id, token, cause, at) =>
      changeSandbox(
        connections,
        id,
        (before) => releasedSandbox(before, token),
        (before) => [releasedEvent(before, token, cause, at)],
      ),
    handOver: (key, move) =>
      connections.transaction(async (db) => {
        checkKey(key);
        const session = await lockSession(db, key);
        const rows = await lockSandboxes(db, [move.from, move.to]);
        const [before, target] = [move.from, move.to].map((id) => rows.find((row) => row.id === id));
        const moved = handedOver(session && before && { session, sandbox: before }, target, move);
        if (before === undefined || target === undefined || moved === undefined) return undefined;
        await updateSandbox(db, before, moved.left);
        await updateSandbox(db, target, moved.bound.sandbox);
        await updateSession(db, moved.bound.session);
        await insertEvents(db, handOverEvents(moved, move));
        return moved;
      }),
  };
}

/** One compare-and-set: the row as `change` has it, with its events, or undefined and nothing written. */
export function changeSandbox(
  connections: Connections,
  id: SandboxId,
  change: (before: SandboxRecord) => SandboxRecord | undefined,
  events: (before: SandboxRecord, after: SandboxRecord) => readonly NewEvent[],
): Promise<SandboxRecord | undefined> {
  return connections.transaction(async (db) => {
    const before = await lockSandbox(db, id);
    const after = before && change(before);
    if (before === undefined || after === undefined) return undefined;
    await updateSandbox(db, before, after);
    await insertEvents(db, events(before, after));
    return after;
  });
}
