/** Forgets what nobody will ask for any more: old events, sandboxes that ended, sessions that ended with theirs, and their snapshots. */
import type { Engine } from './engine.ts';
import { pruneSnapshots } from './snapshots.ts';

const DAY_MS = 24 * 60 * 60_000;
const KEEP_EVENTS = 10_000;
const KEEP_SANDBOX_MS = 7 * DAY_MS;
/** Longer than a sandbox's: with its row a key loses its network ratchet and what its next use would be told. */
const KEEP_SESSION_MS = 30 * DAY_MS;
const BATCH = 100;

export async function prune(engine: Engine): Promise<void> {
  const { store } = engine.ports;
  const now = engine.now();
  await removeEndedSessions(engine, now - KEEP_SESSION_MS);
  await store.pruneSandboxes(now - KEEP_SANDBOX_MS);
  await store.pruneEvents(KEEP_EVENTS);
  await pruneSnapshots(engine);
}

/** One whose key was bound anew meanwhile stays. */
async function removeEndedSessions(engine: Engine, before: number): Promise<void> {
  const { store } = engine.ports;
  while (!engine.closing.aborted) {
    const ended = await store.endedSessions(before, BATCH);
    for (const { session, sandbox } of ended) {
      const cause = `its sandbox is ${sandbox.state} for more than ${KEEP_SESSION_MS / DAY_MS} days`;
      await store.removeSession(session.key, sandbox.id, cause, engine.now());
    }
    if (ended.length < BATCH) return;
  }
}
