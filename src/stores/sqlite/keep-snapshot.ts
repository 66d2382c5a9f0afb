/** Records the last snapshot of a session, in one transaction with its event. */
import type { SessionKey } from '../../core/session-key.ts';
import { snapshotEvent, snapshottedSession } from '../../store/changes.ts';
import type { SessionRecord } from '../../store/records.ts';
import { checkKey } from '../../store/refusals.ts';
import type { TakenSnapshot } from '../../store/store.ts';
import type { Connection } from './connection.ts';
import { insertEvent } from './tables/events.ts';
import { selectSession, updateSession } from './tables/sessions.ts';

export function keepSnapshot(
  db: Connection,
  key: SessionKey,
  taken: TakenSnapshot,
): Promise<SessionRecord | undefined> {
  return db.transaction(() => {
    checkKey(key);
    const before = selectSession(db, key)?.session;
    const after = before && snapshottedSession(before, taken);
    if (after === undefined) return undefined;
    updateSession(db, after);
    insertEvent(db, snapshotEvent(after, taken));
    return after;
  });
}
