/** One pass over what is due, and nothing else: policy's deadlines, failed destroys, creates that were given up on. */
import type { SweepReport } from '../core/api.ts';
import { explainIdle, isAdaptive } from '../core/adaptive-idle.ts';
import { SubletError } from '../core/errors.ts';
import type { DueAction } from '../core/expiry.ts';
import { dueAction, dueAt } from '../core/expiry.ts';
import type { SandboxHandle } from '../provider/provider.ts';
import type { SandboxRecord } from '../store/records.ts';
import { withDeadline } from './deadline.ts';
import { destroySandbox, takeOverDestroying } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import type { LanePass } from './lanes.ts';
import { isProviderDown } from './lanes.ts';
import { markLost } from './mark-lost.ts';
import { pauseSandbox, stopSandbox } from './move-sandbox.ts';
import type { OwnerCensus } from './owner-watch.ts';
import { discard } from './pools/discard.ts';
import { callProvider, isElsewhere } from './provider-call.ts';
import { sandboxPages } from './sandbox-pages.ts';

type SweepAction = SweepReport['actions'][number];
type Outcome = Pick<SweepAction, 'action' | 'reason'> | undefined;

const PAGE = 100;
/** What is left over is done by the next pass. */
const MOST_ACTS = 10_000;
const RETRY_MS = 60_000;
const POOL_REASONS: Readonly<Record<DueAction['reason'], string>> = {
  idle: 'idle for too long',
  'too-old': 'too old',
  abandoned: 'lease not renewed',
};

/**
 * What fails is in the report, and due again later. What a living process has is left to that process; of several sweepers
 * one wins for each sandbox.
 */
export async function sweepDue(engine: Engine, census: OwnerCensus, lanes: LanePass): Promise<SweepReport> {
  const actions: SweepAction[] = [];
  let examined = 0;
  const due = { dueBy: engine.now(), notOwnedBy: census.untouchable };
  for await (const page of sandboxPages(engine.ports.store, due, PAGE)) {
    await lanes.run(await unowned(engine, page, census), (record) => examine(engine, record, actions));
    examined += page.length;
    if (actions.length >= MOST_ACTS || engine.closing.aborted) break;
  }
  return { examined, actions };
}

/** Without what a process has that came after the census. */
async function unowned(
  engine: Engine,
  page: readonly SandboxRecord[],
  earlier: OwnerCensus,
): Promise<readonly SandboxRecord[]> {
  const ownerIds = page.map(({ ownerId }) => ownerId);
  const { untouchable } = await engine.owners.censusOf(ownerIds, earlier);
  return page.filter(({ ownerId }) => !untouchable.includes(ownerId));
}

/** False when the provider did not answer. */
async function examine(engine: Engine, record: SandboxRecord, actions: SweepAction[]): Promise<boolean> {
  try {
    if (await isOutOfReach(engine, record)) return true;
    const outcome = await act(engine, record);
    if (outcome !== undefined) actions.push({ sandboxId: record.id, ...outcome });
    return true;
  } catch (cause) {
    const error = describe(cause);
    engine.ports.log.warn({ sandboxId: record.id, state: record.state, error }, 'sweep could not do what is due');
    await postpone(engine, record);
    actions.push({ sandboxId: record.id, action: 'retry-later', reason: record.state, error });
    return !isProviderDown(cause);
  }
}

async function isOutOfReach(engine: Engine, record: SandboxRecord): Promise<boolean> {
  return isElsewhere(engine, await engine.ports.provider(record.provider, record.profile), record);
}

async function act(engine: Engine, record: SandboxRecord): Promise<Outcome> {
  switch (record.state) {
    case 'creating': {
      // Late, because this process itself stood still: it ends what it makes by its own deadline.
      if (engine.making.has(record.id)) return undefined;
      const gone = await destroySandbox(engine, record, 'not ready in time', {
        version: record.version,
        from: ['creating'],
      });
      return gone && { action: 'destroy', reason: 'not ready in time' };
    }
    case 'destroying': {
      if ((await takeOverDestroying(engine, record)) === undefined) return undefined;
      return { action: 'destroy', reason: 'an earlier attempt failed' };
    }
    case 'running':
    case 'paused':
    case 'stopped':
      return applyPolicy(engine, record);
    case 'destroyed':
    case 'lost':
      await engine.ports.store.patchSandbox(record.id, { dueAt: undefined }, record.version);
      return undefined;
  }
}

async function applyPolicy(engine: Engine, record: SandboxRecord): Promise<Outcome> {
  const live = engine.lives.get(record.id);
  const now = engine.now();
  const lastActiveAt = Math.max(record.lastActiveAt, live?.lastActiveAt ?? 0);
  const facts = { ...record, lastActiveAt, gaps: live?.gaps ?? record.gaps };
  const isBusy = live?.isBusy === true || (await engine.leaseWatch.standing(record, now)) !== undefined;
  const due = dueAction(facts, isBusy, now);
  if (due === undefined) {
    await touch(engine, record, isBusy ? now : lastActiveAt);
    return undefined;
  }
  if (record.terms !== undefined) return discardDue(engine, record, due);
  if (due.reason === 'idle' && record.state === 'running') {
    const fact = await askBox(engine, record);
    if (fact === 'gone') {
      await markLost(engine, record);
      return { action: 'mark-lost', reason: 'the provider no longer has it' };
    }
    if (fact === 'busy') {
      await touch(engine, record, now);
      return undefined;
    }
  }
  return carryOut(engine, record, record.ephemeral ? { ...due, action: 'destroy' } : due);
}

/** Of a pool: one that is idle for long may be part of the minimum, which whoever keeps the pool knows. */
async function discardDue(engine: Engine, record: SandboxRecord, due: DueAction): Promise<Outcome> {
  const { pool = '', version } = record;
  if (due.reason === 'idle' && engine.keptLanes.has(pool)) {
    await engine.ports.store.patchSandbox(record.id, { dueAt: engine.now() + RETRY_MS }, version);
    return undefined;
  }
  const reason = POOL_REASONS[due.reason];
  return (await discard(engine, record, reason, { version })) ? { action: 'destroy', reason } : undefined;
}

/** Commands that this process knows nothing of may run in the background. */
export async function askBox(engine: Engine, record: SandboxRecord): Promise<'busy' | 'idle' | 'gone'> {
  const live = engine.lives.get(record.id);
  if (live !== undefined) {
    try {
      return await askForCommands(engine, live.handle);
    } catch (cause) {
      // A handle that does not answer proves nothing: the provider knows whether there is still something behind it.
      engine.ports.log.debug({ sandboxId: record.id, error: describe(cause) }, 'handle does not answer');
    }
  }
  const handle = await callProvider(engine, record, 'attach', (provider, ref, signal) => provider.attach(ref, signal));
  if (handle === undefined) return 'gone';
  try {
    return handle.state === 'paused' || handle.state === 'stopped' ? 'idle' : await askForCommands(engine, handle);
  } finally {
    await handle.close();
  }
}

// Another sweeper may have just paused it, and then it never answers.
async function askForCommands(engine: Engine, handle: SandboxHandle): Promise<'busy' | 'idle'> {
  const ms = engine.config.healthCheckTimeoutMs;
  const late = (): SubletError =>
    new SubletError('PROVIDER_UNAVAILABLE', `The sandbox did not list its commands within ${ms / 1000} s.`);
  const commands = await withDeadline(engine.ports.clock, { ms, late }, () => handle.commands.list());
  return commands.some((command) => command.running) ? 'busy' : 'idle';
}

/** What cannot pause is stopped; what cannot stop is kept, and said so: only a policy that says so destroys. */
async function carryOut(engine: Engine, record: SandboxRecord, due: DueAction): Promise<Outcome> {
  const { capabilities } = await engine.ports.provider(record.provider, record.profile);
  const cause = due.reason === 'idle' ? idleCause(record) : `older than ${record.policy.autoDeleteMinutes} minutes`;
  const only = { version: record.version };
  if (due.action === 'destroy') {
    return (await destroySandbox(engine, record, cause, only)) && { action: 'destroy', reason: cause };
  }
  if (due.action === 'pause' && capabilities.has('pause')) {
    return (await pauseSandbox(engine, record, cause, only)) && { action: 'pause', reason: cause };
  }
  if (capabilities.has('stop')) {
    return (await stopSandbox(engine, record, cause, only)) && { action: 'stop', reason: cause };
  }
  engine.ports.log.warn(
    { sandboxId: record.id, provider: record.provider, action: due.action },
    'idle sandbox kept: its provider can neither pause nor stop',
  );
  await touch(engine, record, engine.now());
  return { action: 'keep', reason: `${cause}, but provider "${record.provider}" can neither pause nor stop` };
}

function idleCause({ policy, gaps }: SandboxRecord): string {
  return isAdaptive(policy) ? `idle for ${explainIdle(policy, gaps)}` : `idle for ${policy.autoStopMinutes} minutes`;
}

function touch(engine: Engine, record: SandboxRecord, lastActiveAt: number): Promise<unknown> {
  const due = dueAt({ ...record, lastActiveAt });
  if (lastActiveAt > record.lastActiveAt)
    return engine.ports.store.touch([{ sandboxId: record.id, lastActiveAt, dueAt: due }]);
  return engine.ports.store.patchSandbox(record.id, { dueAt: due }, record.version);
}

// A row that is being destroyed was given its own next time by whoever failed at it.
async function postpone(engine: Engine, record: SandboxRecord): Promise<void> {
  try {
    const present = await engine.ports.store.getSandbox(record.id);
    if (present === undefined || present.dueAt === undefined || present.dueAt > engine.now()) return;
    await engine.ports.store.patchSandbox(record.id, { dueAt: engine.now() + RETRY_MS }, present.version);
  } catch (cause) {
    engine.ports.log.warn({ sandboxId: record.id, error: describe(cause) }, 'sweep could not postpone a retry');
  }
}
