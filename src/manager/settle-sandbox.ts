/** Carries out what recovery decided about one sandbox on record, unless the row has changed since it was judged. */
import type { ReapVerdict } from '../core/api.ts';
import { SubletError } from '../core/errors.ts';
import type { AbandonedFacts, OwnerFact, Verdict } from '../core/recovery.ts';
import { judgeByOwner } from '../core/recovery.ts';
import type { OwnerRecord, SandboxRecord } from '../store/records.ts';
import { destroySandbox, takeOverDestroying } from './destroy-sandbox.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { giveTo, livingHeir, livingOwner } from './heirs.ts';
import { isReplaced } from './is-replaced.ts';
import { isProviderDown } from './lanes.ts';
import { pauseSandbox, restAsFound, stopSandbox } from './move-sandbox.ts';
import { livingKeeper } from './pools/leave-pools.ts';
import { callProvider, isElsewhere } from './provider-call.ts';

export interface Settled {
  readonly verdict: ReapVerdict;
  /** False when the provider did not answer. */
  readonly isAnswered: boolean;
}

export interface Judged extends Verdict {
  /** It is another machine's, or its provider cannot be opened here. */
  readonly isOutOfReach?: boolean;
}

/** What is to become of it, by the fate of its owner. Never throws. */
export async function judgeSandbox(engine: Engine, record: SandboxRecord, owner: OwnerFact): Promise<Judged> {
  if (owner === 'self' || owner === 'alive' || owner === 'unknown')
    return judgeByOwner({ ...record, owner, canPause: false, canStop: false });
  const outOfReach = (reason: string): Judged => ({ action: 'keep', reason, isOutOfReach: true });
  try {
    const provider = await engine.ports.provider(record.provider, record.profile);
    if (isElsewhere(engine, provider, record)) {
      return outOfReach(`it lives on host "${record.hostName || record.hostId}": a Sublet there sees to it`);
    }
    const canPause = provider.capabilities.has('pause');
    const canStop = provider.capabilities.has('stop');
    if (record.pool !== undefined) return await judgePooled(engine, record, owner);
    const [user, hasSuccessor] = await Promise.all([userOf(engine, record), isReplaced(engine, record)]);
    return judgeByOwner({ ...record, owner, canPause, canStop, user, isReplaced: hasSuccessor });
  } catch (cause) {
    return outOfReach(`its provider cannot be asked: ${describe(cause)}`);
  }
}

// Several processes may use a session's sandbox, and the last to pick it up owns it.
async function userOf(engine: Engine, record: SandboxRecord): Promise<AbandonedFacts['user']> {
  if (engine.lives.has(record.id)) return 'this process';
  if ((await livingHolder(engine, record)) !== undefined) return 'the holder of its lease';
  return (await livingHeir(engine, record)) === undefined ? undefined : 'a process that had it before';
}

/** What waits in a pool goes to whoever keeps it; a lease on it may be of this process. */
async function judgePooled(engine: Engine, record: SandboxRecord, owner: OwnerFact): Promise<Judged> {
  const lease = await engine.leaseWatch.standing(record, engine.now());
  const isHeld = lease !== undefined && (lease.ownerId === engine.ownerId || (await livingHolder(engine, record)));
  const keeper = keeps(engine, record)
    ? 'this process'
    : (await livingKeeper(engine, record)) && ('another process' as const);
  return judgeByOwner({
    ...record,
    owner,
    canPause: false,
    canStop: false,
    user: isHeld === false || isHeld === undefined ? undefined : 'the holder of its lease',
    pooled: { isClean: record.lease === undefined, keeper },
  });
}

function keeps(engine: Engine, { pool = '', lane }: SandboxRecord): boolean {
  return engine.keptLanes.get(pool) === lane && !engine.closing.aborted;
}

async function livingHolder(engine: Engine, record: SandboxRecord): Promise<OwnerRecord | undefined> {
  const lease = await engine.leaseWatch.standing(record, engine.now());
  return lease && livingOwner(engine, lease.ownerId);
}

/** Never throws: what fails is in the verdict and stays on record for the next pass. */
export async function settleSandbox(engine: Engine, record: SandboxRecord, verdict: Verdict): Promise<Settled> {
  const told = toReapVerdict(record, verdict);
  try {
    await carryOut(engine, record, verdict);
    return { verdict: told, isAnswered: true };
  } catch (cause) {
    const error = describe(cause);
    engine.ports.log.warn({ sandboxId: record.id, action: verdict.action, error }, 'recovery could not act');
    return { verdict: { ...told, error }, isAnswered: !isProviderDown(cause) };
  }
}

export function toReapVerdict(record: SandboxRecord, verdict: Verdict): ReapVerdict {
  const { id, name, provider, state } = record;
  const { action, reason } = verdict;
  return { sandboxId: id, name, provider, state, action, reason };
}

async function carryOut(engine: Engine, record: SandboxRecord, { action, reason }: Verdict): Promise<void> {
  const only = { version: record.version };
  switch (action) {
    case 'keep':
    case 'watch':
    case 'mark-lost':
      return;
    case 'adopt':
      await adopt(engine, record);
      return;
    case 'destroy':
      await (record.state === 'destroying'
        ? takeOverDestroying(engine, record)
        : destroySandbox(engine, record, reason, only));
      return;
    case 'pause':
    case 'stop':
      await putToRest(engine, record, action, reason);
  }
}

/** It follows whoever uses it from now on. One that has left by now is none: the next pass judges anew. */
async function adopt(engine: Engine, record: SandboxRecord): Promise<void> {
  const isOurs = record.pool === undefined ? engine.lives.has(record.id) : isForUs(engine, record);
  if (isOurs) {
    engine.ports.watch?.(engine.ownerId, record.provider);
    const heirs = record.heirs.filter((id) => id !== engine.ownerId);
    await engine.ports.store.patchSandbox(record.id, { ...engine.ownership, heirs }, record.version);
    return;
  }
  const heir =
    (await livingHolder(engine, record)) ??
    (await livingHeir(engine, record)) ??
    (record.lease === undefined ? await livingKeeper(engine, record) : undefined);
  if (heir !== undefined) await giveTo(engine, record, heir);
}

function isForUs(engine: Engine, record: SandboxRecord): boolean {
  return record.lease === undefined ? keeps(engine, record) : record.lease.ownerId === engine.ownerId;
}

/** Goes by what the provider says: after a reboot, what the row says is running may have no processes left. */
async function putToRest(
  engine: Engine,
  record: SandboxRecord,
  action: 'pause' | 'stop',
  reason: string,
): Promise<void> {
  const only = { version: record.version };
  const handle = await callProvider(engine, record, 'attach', (provider, ref, signal) => provider.attach(ref, signal));
  if (handle === undefined)
    throw new SubletError('SANDBOX_LOST', `Provider "${record.provider}" does not have ${record.id} any more.`);
  const fact = handle.state;
  await handle.close();
  if (fact === 'paused' || fact === 'stopped') await restAsFound(engine, record, fact, reason);
  else await (action === 'pause' ? pauseSandbox : stopSandbox)(engine, record, reason, only);
}
