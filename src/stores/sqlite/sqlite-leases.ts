/** Leases on SQLite. */
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
import type { Connection } from './connection.ts';
import type { SessionCache } from './session-cache.ts';
import { insertEvent } from './tables/events.ts';
import { selectSandbox, updateSandbox } from './tables/sandboxes.ts';
import { selectSession, updateSession } from './tables/sessions.ts';

export function sqliteLeases(db: Connection, sessions: SessionCache): Leases {
  return {
    acquire: (id, wish) =>
      changeSandbox(
        db,
        sessions,
        id,
        (before) => leasedSandbox(before, wish),
        (before, after) => leasedEvents(before, after, wish.at),
      ),
    renew: (id, token, at) =>
      changeSandbox(
        db,
        sessions,
        id,
        (before) => renewedSandbox(before, token, at),
        () => [],
      ),
    release: (id, token, cause, at) =>
      changeSandbox(
        db,
        sessions,
        id,
        (before) => releasedSandbox(before, token),
        (before) => [releasedEvent(before, token, cause, at)],
      ),
    // Durable: what the key had is destroyed next.
    handOver: (key, move) =>
      db.durably(() => {
        checkKey(key);
        const [bound, target] = [selectSession(db, key), selectSandbox(db, move.to)];
        const moved = handedOver(bound, target, move);
        if (bound === undefined || target === undefined || moved === undefined) return undefined;
        updateSandbox(db, bound.sandbox, moved.left);
        updateSandbox(db, target, moved.bound.sandbox);
        updateSession(db, moved.bound.session);
        for (const event of handOverEvents(moved, move)) insertEvent(db, event);
        return moved;
      }),
  };
}

/** One compare-and-set: the row as `change` has it, with its events, or undefined and nothing written. */
export function changeSandbox(
  db: Connection,
  sessions: SessionCache,
  id: SandboxId,
  change: (before: SandboxRecord) => SandboxRecord | undefined,
  events: (before: SandboxRecord, after: SandboxRecord) => readonly NewEvent[],
): Promise<SandboxRecord | undefined> {
  const write = (): SandboxRecord | undefined => {
    const before = selectSandbox(db, id);
    const after = before && change(before);
    if (before === undefined || after === undefined) return undefined;
    updateSandbox(db, before, after);
    for (const event of events(before, after)) insertEvent(db, event);
    return after;
  };
  return db.transaction(write, (after, writes) => sessions.changed(writes, [after]));
}
