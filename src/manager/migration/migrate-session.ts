/**
 * A session goes to another place. What was made for it elsewhere is nobody's until it is filled and compared; then one transaction
 * gives it the key and sends off what the key had. Whoever dies before that leaves the session where it was, and a row that recovery
 * destroys; whoever dies after it leaves the session at its new place, and the old row to be destroyed.
 */
import { sleep } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import type { LeaseTerms } from '../../core/options.ts';
import type { MigrateOptions, MigrationReport } from '../../core/migration.ts';
import { routeNames } from '../../core/routing.ts';
import type { ResolvedSandbox } from '../../core/spec.ts';
import type { HandedOver } from '../../store/leases.ts';
import type { BoundSession, SandboxRecord } from '../../store/records.ts';
import { DESTROY_TAKEOVER_MS, destroySandbox, finishDestroying } from '../destroy-sandbox.ts';
import type { Engine } from '../engine.ts';
import { describe } from '../engine.ts';
import type { KeptLease } from '../kept-lease.ts';
import { takeLease } from '../kept-lease.ts';
import type { LiveSandbox } from '../live-sandbox.ts';
import { TAKEOVER_GRACE_MS } from '../plan-sandbox.ts';
import { choicesOf, makeRouted } from '../routing/make-routed.ts';
import { emptyWorkspace } from '../workspace-archive.ts';
import { carryVerified, type Carried } from './carry-verified.ts';
import { departure, endCommands, type MigrationSource } from './departure.ts';
import { leftBehind, type DepartureFacts } from './left-behind.ts';
import { whileMoving } from './while-moving.ts';

/** How long nothing may move on the way. */
const STILL_MS = 5 * 60_000;

const LONGEST_ASKING_MS = 5_000;
const LEASE_MS = 10_000;

export interface Migrated {
  readonly report: MigrationReport;
  /** undefined when nothing was moved. */
  readonly live: LiveSandbox | undefined;
}

/** USAGE for a sandbox of no session, STATE_CONFLICT when it is in use or is not its session's, LEASE_HELD when somebody holds it. */
export async function migrateSession(
  engine: Engine,
  source: MigrationSource,
  options: MigrateOptions,
): Promise<Migrated> {
  engine.assertOpen();
  const moving = migrate(engine, source, options);
  engine.inBackground(
    'session not migrated',
    moving.catch(() => {}),
  );
  return moving;
}

async function migrate(engine: Engine, source: MigrationSource, options: MigrateOptions): Promise<Migrated> {
  const { live } = source;
  const bound = await boundTo(engine, live.record);
  const choices = await resolveTarget(engine, bound, options);
  const facts = await departure(engine, source, choices, options.signal);
  if (options.dryRun === true) return { report: toReport(bound, facts, undefined, undefined, true), live: undefined };
  // What runs in the background is busy too, and is told of in the report.
  if (live.isBusy && facts.running === 0) throw inUse(live);
  const lease = source.lease ?? (await takeLease(engine, live.record, leaseTerms(options)));
  // Busy while it lasts: nobody finds it idle.
  const end = live.begin(() => engine.now());
  try {
    if (options.endCommands === true) await endCommands(engine, live, options.signal);
    const target = await fillTarget(engine, source, bound, choices, lease, options);
    const moved = await handOver(engine, bound, target.live, lease);
    end();
    lease.end();
    target.live.record = moved.bound.sandbox;
    // The row says so, and the sweep goes on with what fails here.
    await finishDestroying(engine, moved.left).catch(() => {});
    const arrival = { ...facts, target: target.wanted, complaints: target.carried.complaints };
    return { report: toReport(moved.bound, arrival, target.carried, moved.left, false), live: target.live };
  } catch (cause) {
    end();
    if (source.lease === undefined) await lease.release('not migrated').catch(() => {});
    throw cause;
  }
}

/** Short, so that a session whose mover was killed is not kept from its users for long. */
function leaseTerms({ to }: MigrateOptions): LeaseTerms {
  return { holder: `the migration to ${routeNames(to).join(', ')}`, ttlMs: LEASE_MS };
}

async function boundTo(engine: Engine, { id, sessionKey }: SandboxRecord): Promise<BoundSession> {
  if (sessionKey === undefined)
    throw new SubletError('USAGE', `Sandbox ${id} is of no session, and only sessions are migrated.`, {
      hint: 'Copy its files with: sublet cp',
    });
  const bound = await engine.ports.store.getSession(sessionKey);
  if (bound?.sandbox.id === id) return bound;
  throw changed(sessionKey, id);
}

/** With the network that the session has come to, whatever the profile says; what cannot enforce it is refused before anything is made. */
async function resolveTarget(
  engine: Engine,
  { session }: BoundSession,
  { to }: MigrateOptions,
): Promise<readonly ResolvedSandbox[]> {
  const { kind, network } = session;
  return choicesOf(await engine.ports.resolve({ sandbox: to, network }, { kind }));
}

/** Made, filled and compared before it counts as running: whatever fails on the way undoes it like any create. */
async function fillTarget(
  engine: Engine,
  { live }: MigrationSource,
  { session, sandbox }: BoundSession,
  choices: readonly ResolvedSandbox[],
  lease: KeptLease,
  { signal }: MigrateOptions,
): Promise<{ readonly live: LiveSandbox; readonly wanted: ResolvedSandbox; readonly carried: Carried }> {
  const { store, clock } = engine.ports;
  let carried: Carried | undefined;
  let wanted: ResolvedSandbox | undefined;
  const routed = await makeRouted(engine, {
    choices,
    request: () => ({
      kind: session.kind,
      sessionKey: session.key,
      cause: `migration of ${sandbox.id}`,
      gaps: sandbox.gaps,
      isProvisional: true,
    }),
    commit: (row, choice) => {
      wanted = choice;
      return store.insertSandbox(row);
    },
    signal,
    fill: async (handle, intent) => {
      // As long as something moves nobody takes the create for one that hangs.
      const lastLonger = (): Promise<unknown> =>
        store.patchSandbox(intent.id, { dueAt: engine.now() + STILL_MS + TAKEOVER_GRACE_MS });
      await lastLonger();
      const onMoving = (): void => engine.inBackground('target not kept', lastLonger());
      const patience = { ms: STILL_MS, signals: [signal, engine.closing, lease.lost], onMoving };
      carried = await whileMoving(clock, patience, async (either, moved) => {
        await makeRoom(handle, intent);
        return carryVerified(live.handle, handle, either, moved);
      });
    },
  });
  if (routed === undefined || carried === undefined || wanted === undefined)
    throw new SubletError('INTERNAL', 'The target of a migration was not made.');
  return { live: routed.live, wanted, carried };
}

/** What an image has in its working directory makes way; what a volume has is somebody's. */
async function makeRoom(handle: LiveSandbox['handle'], { spec }: SandboxRecord): Promise<void> {
  if (spec.contextId === undefined) return emptyWorkspace(handle);
  if ((await handle.files.list('.')).length === 0) return;
  throw new SubletError('FILE_FAILED', `The volume "${spec.contextId}" at the target is not empty.`, {
    hint: 'Migrate to a profile with an empty volume, or without one.',
  });
}

/** STATE_CONFLICT, and nothing left of the target, when the session was tightened, replaced or taken meanwhile. */
async function handOver(
  engine: Engine,
  { session, sandbox }: BoundSession,
  target: LiveSandbox,
  lease: KeptLease,
): Promise<HandedOver> {
  const { store } = engine.ports;
  const now = engine.now();
  const move = {
    from: sandbox.id,
    to: target.id,
    token: lease.token,
    at: now,
    cause: `migrated to ${target.id} at "${target.record.profile}"`,
    ownerId: engine.ownerId,
    dueAt: now + DESTROY_TAKEOVER_MS,
  };
  let moved: HandedOver | undefined;
  try {
    moved = await store.leases.handOver(session.key, move);
  } catch (cause) {
    // Whether it was done is asked of the store; as long as that does not answer, neither of the two is touched.
    moved = await whatHappened(engine, session.key, sandbox.id, target.id);
    if (moved === undefined) {
      await undo(engine, target);
      throw cause;
    }
  }
  if (moved !== undefined) return moved;
  await undo(engine, target);
  throw changed(session.key, sandbox.id);
}

async function whatHappened(engine: Engine, key: string, from: string, to: string): Promise<HandedOver | undefined> {
  const { store, clock } = engine.ports;
  for (let waitMs = 100; ; waitMs *= 2) {
    try {
      const [bound, left] = await Promise.all([store.getSession(key), store.getSandbox(from)]);
      return bound?.sandbox.id === to && left !== undefined ? { bound, left } : undefined;
    } catch (cause) {
      if (waitMs > LONGEST_ASKING_MS) throw cause;
      await sleep(clock, waitMs);
    }
  }
}

async function undo(engine: Engine, target: LiveSandbox): Promise<void> {
  await destroySandbox(engine, target.record, 'not migrated').catch((cause: unknown) => {
    engine.ports.log.warn({ sandboxId: target.id, error: describe(cause) }, 'target of a migration not destroyed yet');
  });
}

function toReport(
  { session, sandbox }: BoundSession,
  facts: DepartureFacts,
  carried: Carried | undefined,
  left: SandboxRecord | undefined,
  dryRun: boolean,
): MigrationReport {
  const source = left ?? facts.source;
  const { provider, profile } = facts.target;
  return {
    key: session.key,
    from: { provider: source.provider, profile: source.profile, sandboxId: source.id },
    to: { provider, profile, sandboxId: left === undefined ? undefined : sandbox.id },
    network: session.network,
    entries: carried?.manifest.entries ?? 0,
    bytes: carried?.manifest.bytes ?? 0,
    sha256: carried?.manifest.sha256 ?? '',
    left: leftBehind(facts),
    dryRun,
  };
}

function inUse({ id }: LiveSandbox): SubletError {
  return new SubletError('STATE_CONFLICT', `A command runs in sandbox ${id}, or a file is being read or written.`, {
    details: { sandboxId: id },
    hint: 'Wait for it to end, then migrate.',
  });
}

function changed(key: string, id: string): SubletError {
  return new SubletError('STATE_CONFLICT', `Session ${key} changed while ${id} was to be migrated.`, {
    details: { sessionKey: key, sandboxId: id },
    hint: 'Ask for the session again and repeat the migration.',
  });
}
