/** Copies of a session's working directory: taken when asked, unpacked into the sandbox that replaces a lost one. */
import type { SessionNotice } from '../core/api.ts';
import { SubletError } from '../core/errors.ts';
import type { SnapshotArchive, SnapshotInfo } from '../core/snapshots.ts';
import type { SandboxHandle } from '../provider/provider.ts';
import type { BoundSession, SandboxRecord, SessionRecord } from '../store/records.ts';
import type { FillSandbox } from './create-sandbox.ts';
import { withDeadline } from './deadline.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { TAKEOVER_GRACE_MS } from './plan-sandbox.ts';
import { emptyWorkspace, hasTar, packWorkspace, unpackWorkspace } from './workspace-archive.ts';

const RESTORE_MS = 10 * 60_000;

/**
 * Busy while it lasts. UNSUPPORTED where nothing is kept or the sandbox has no tar; USAGE for a sandbox of no session; FILE_FAILED for
 * more than there may be, of which nothing is kept.
 */
export async function takeSnapshot(engine: Engine, live: LiveSandbox, cause: string): Promise<SnapshotInfo> {
  const { sessionKey: key, id } = live.record;
  if (key === undefined)
    throw new SubletError('USAGE', `Sandbox ${id} is of no session, and only a session is restored from a snapshot.`, {
      hint: 'Copy its files out with: sublet cp',
    });
  const archive = await archiveOf(engine);
  const end = live.begin(() => engine.now());
  try {
    await assertTar(live.handle, id);
    const save = (content: AsyncIterable<Uint8Array>): Promise<Omit<SnapshotInfo, 'at'>> =>
      archive.save(key, upTo(engine.config.maxSnapshotBytes, content));
    const saved = await packWorkspace(live.handle, save, engine.closing);
    const snapshot = { ...saved, at: engine.now() };
    await engine.register();
    if ((await engine.ports.store.keepSnapshot(key, { sandboxId: id, snapshot, cause })) === undefined)
      throw new SubletError('STATE_CONFLICT', `Session ${key} got another sandbox than ${id} meanwhile.`, {
        details: { sandboxId: id, sessionKey: key },
        hint: 'Ask for the session again and repeat the snapshot.',
      });
    await archive.trim(key, snapshot);
    return snapshot;
  } finally {
    end();
  }
}

async function* upTo(maxBytes: number, content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

function tooLarge(maxBytes: number): SubletError {
  const limit = `${maxBytes / 2 ** 30} GiB`;
  return new SubletError('FILE_FAILED', `The working directory is more than the ${limit} that a snapshot may have.`, {
    details: { maxBytes },
    hint: 'Remove what is large: du -a --apparent-size . | sort -n | tail. A file with holes counts as if it were full.',
  });
}

/** How the sandbox that replaces this one gets its working directory back; undefined when there is nothing to restore. */
export async function restoring(
  engine: Engine,
  { session, sandbox }: BoundSession,
): Promise<{ readonly fill: FillSandbox; readonly notice: () => SessionNotice } | undefined> {
  const { snapshot, key } = session;
  // A volume is not lost with its sandbox.
  if (sandbox.policy.onLost !== 'restore' || snapshot === undefined || sandbox.spec.contextId !== undefined)
    return undefined;
  if (sandbox.state !== 'lost' && (await hasRun(engine, sandbox))) return undefined;
  let failure: string | undefined;
  const fill: FillSandbox = async (handle, intent, signal) => {
    const { clock, store, log } = engine.ports;
    const late = (): SubletError =>
      new SubletError('FILE_FAILED', `not unpacked within ${RESTORE_MS / 60_000} minutes`);
    const deadline = { ms: RESTORE_MS, late, signals: [signal, engine.closing] };
    try {
      // Until then nobody takes the create for one that hangs.
      await store.patchSandbox(intent.id, { dueAt: engine.now() + RESTORE_MS + TAKEOVER_GRACE_MS });
      const archive = await archiveOf(engine);
      await withDeadline(clock, deadline, (either) => unpackWorkspace(handle, archive.read(key, snapshot), either));
      await tell(engine, session, snapshot, sandbox.id);
    } catch (cause) {
      if (signal?.aborted === true || engine.closing.aborted) throw cause;
      failure = describe(cause);
      log.warn({ sessionKey: key, snapshot: snapshot.id, error: failure }, 'snapshot not restored');
      // What was unpacked before it failed is not what was saved.
      await emptyWorkspace(handle).catch(() => {});
    }
  };
  return { fill, notice: () => restoredNotice(sandbox.id, snapshot, engine.now(), failure) };
}

// One that never ran was itself to take the place of a lost one, or of none: what it was to get is still owed.
async function hasRun(engine: Engine, { id }: SandboxRecord): Promise<boolean> {
  const events = await engine.ports.store.listEvents({ sandboxId: id });
  return events.some(({ type }) => type === 'sandbox.running') || events[0]?.type !== 'sandbox.creating';
}

/** Forgets the copies of sessions that are forgotten. */
export async function pruneSnapshots({ ports }: Engine): Promise<void> {
  const archive = await ports.snapshots?.();
  await archive?.prune(async (key) => (await ports.store.getSession(key)) !== undefined);
}

async function archiveOf({ ports }: Engine): Promise<SnapshotArchive> {
  const archive = await ports.snapshots?.();
  if (archive !== undefined) return archive;
  throw new SubletError('UNSUPPORTED', 'This manager keeps no snapshots.', { hint: 'Open it with a home on disk.' });
}

async function assertTar(handle: SandboxHandle, id: string): Promise<void> {
  if (await hasTar(handle)) return;
  throw new SubletError('UNSUPPORTED', `Sandbox ${id} has no tar, which a snapshot is made with.`, {
    hint: 'Use an image that has tar, or copy the files out with: sublet cp',
  });
}

function tell(engine: Engine, { key }: SessionRecord, { id, at }: SnapshotInfo, lostId: string): Promise<void> {
  const cause = `working directory of ${lostId} as of ${new Date(at).toISOString()}`;
  const event = {
    at: engine.now(),
    type: 'session.restored',
    sessionKey: key,
    cause,
    details: { snapshot: id },
  } as const;
  return engine.ports.store.appendEvents([{ ...event, ownerId: engine.ownerId }]);
}

function restoredNotice(
  lostSandboxId: string,
  { at: snapshotAt }: SnapshotInfo,
  at: number,
  failure: string | undefined,
): SessionNotice {
  const when = new Date(snapshotAt).toISOString();
  if (failure !== undefined) {
    const message = `Sandbox ${lostSandboxId} was lost, and its snapshot of ${when} could not be restored (${failure}). Its files, processes and installed software are gone.`;
    return { type: 'replaced', at, lostSandboxId, message };
  }
  const message = `Sandbox ${lostSandboxId} was lost. Its working directory is as it was at ${when}; later changes, processes and installed software are gone.`;
  return { type: 'restored', at, lostSandboxId, snapshotAt, message };
}
