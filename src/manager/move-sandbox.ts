/** Pausing, stopping and waking: the row moves first, so that whoever looks sees where the sandbox is going. */
import { SubletError } from '../core/errors.ts';
import { dueAt } from '../core/expiry.ts';
import type { SandboxState } from '../core/states.ts';
import type { SandboxHandle, SandboxProvider } from '../provider/provider.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Move } from '../store/store.ts';
import { requireCapability } from './check-capabilities.ts';
import type { Engine } from './engine.ts';
import { isReplaced } from './is-replaced.ts';
import { assertReachable, callProvider } from './provider-call.ts';

export interface MoveOptions {
  /** Only this version: someone who used the sandbox in between wins. */
  readonly version?: number | undefined;
}

/** Memory and processes are kept. Already paused is success; undefined when `options` no longer hold. */
export async function pauseSandbox(
  engine: Engine,
  record: SandboxRecord,
  cause: string,
  options: MoveOptions = {},
): Promise<SandboxRecord | undefined> {
  if (record.state === 'paused') return record;
  requireCapability(await providerOf(engine, record), 'pause');
  assertState(record, 'pause', ['running']);
  return rest(engine, record, 'paused', cause, options);
}

/** The disk is kept, processes are gone. Already stopped is success; undefined when `options` no longer hold. */
export async function stopSandbox(
  engine: Engine,
  record: SandboxRecord,
  cause: string,
  options: MoveOptions = {},
): Promise<SandboxRecord | undefined> {
  if (record.state === 'stopped') return record;
  requireCapability(await providerOf(engine, record), 'stop');
  assertState(record, 'stop', ['running', 'paused']);
  const stopped = await rest(engine, record, 'stopped', cause, options);
  if (stopped?.state === 'stopped') await engine.letGo(record.id);
  return stopped;
}

/**
 * Brings what `handle` found to life, going by what the provider says rather than by the row: a process may have died
 * between the two. Returns the running row, or undefined when the row is no longer one that can run.
 */
export async function wakeSandbox(
  engine: Engine,
  record: SandboxRecord,
  handle: SandboxHandle,
  env: Readonly<Record<string, string>>,
  cause: string,
  signal?: AbortSignal,
): Promise<SandboxRecord | undefined> {
  const fact = handle.state === 'unknown' ? record.state : handle.state;
  const isContradicted = record.state === 'running' && (fact === 'paused' || fact === 'stopped');
  // Somebody may have put it to rest since the row was read, and with reason.
  if (isContradicted && (await engine.ports.store.patchSandbox(record.id, {}, record.version)) === undefined)
    return undefined;
  if (fact === 'paused')
    await callProvider(
      engine,
      record,
      'resume',
      async (provider, ref, either) => provider.resume?.(ref, either),
      signal,
    );
  if (fact === 'stopped')
    await callProvider(
      engine,
      record,
      'start',
      async (provider, ref, either) => provider.start?.(ref, either, { env }),
      signal,
    );
  if (isContradicted) return stillRunning(engine, record);
  if (record.state === 'running') return record;
  return move(engine, record, {
    to: 'running',
    cause,
    from: ['paused', 'stopped'],
    event: record.state === 'stopped' ? 'sandbox.started' : 'sandbox.resumed',
  });
}

async function stillRunning(engine: Engine, { id }: SandboxRecord): Promise<SandboxRecord | undefined> {
  const present = await engine.ports.store.getSandbox(id);
  return present?.state === 'running' ? present : undefined;
}

/** Writes down that the provider already has it at rest: its processes ended with the machine, or a pause was done and not recorded. */
export async function restAsFound(
  engine: Engine,
  record: SandboxRecord,
  to: 'paused' | 'stopped',
  cause: string,
): Promise<SandboxRecord | undefined> {
  await engine.register();
  return move(engine, record, { to, cause, from: [record.state], version: record.version });
}

/** Does at the provider what the row of a paused or stopped sandbox says was done. undefined when the row has changed since. */
export async function restAgain(engine: Engine, record: SandboxRecord): Promise<SandboxRecord | undefined> {
  await engine.register();
  const claimed = await engine.ports.store.patchSandbox(record.id, {}, record.version);
  if (claimed === undefined) return undefined;
  await callRest(engine, claimed);
  return undoIfWanted(engine, claimed);
}

async function rest(
  engine: Engine,
  record: SandboxRecord,
  to: 'paused' | 'stopped',
  cause: string,
  options: MoveOptions,
): Promise<SandboxRecord | undefined> {
  await assertReachable(engine, record);
  await engine.register();
  const resting = await move(engine, record, { to, cause, from: [record.state], version: options.version });
  if (resting === undefined) return undefined;
  const live = engine.lives.get(record.id);
  try {
    await callRest(engine, resting);
  } catch (error) {
    // Only the answer may have failed: whoever uses it next looks first.
    if (live !== undefined) live.isDoubted = true;
    const cause = `${to === 'paused' ? 'pause' : 'stop'} failed`;
    // What slept before rests either way, and nobody has woken it.
    const back = record.state === 'running' && (await move(engine, resting, { to: 'running', cause, from: [to] }));
    // Who replaced it meanwhile went by the row, and left it at rest. Asked after the move: who replaces it later sees that it runs.
    if (back && (await isReplaced(engine, back))) engine.uncontained.set(back.id, back);
    throw error;
  }
  if (live !== undefined) live.isResting = true;
  return undoIfWanted(engine, resting);
}

function callRest(engine: Engine, resting: SandboxRecord): Promise<void> {
  return resting.state === 'paused'
    ? callProvider(engine, resting, 'pause', async (provider, ref, signal) => provider.pause?.(ref, signal))
    : callProvider(engine, resting, 'stop', async (provider, ref, signal) => provider.stop?.(ref, signal));
}

/** Someone woke it while the provider was still putting it to rest: what they were given must work. */
async function undoIfWanted(engine: Engine, resting: SandboxRecord): Promise<SandboxRecord> {
  const present = (await engine.ports.store.getSandbox(resting.id)) ?? resting;
  if (present.state !== 'running') return present;
  const handle = await callProvider(engine, present, 'attach', (provider, ref, signal) => provider.attach(ref, signal));
  if (handle === undefined) return present;
  await wakeSandbox(engine, present, handle, engine.lives.get(present.id)?.env ?? {}, 'in use');
  await handle.close();
  return present;
}

function move(
  engine: Engine,
  record: SandboxRecord,
  to: Omit<Move, 'at' | 'ownerId' | 'details'> & { readonly to: SandboxState },
): Promise<SandboxRecord | undefined> {
  const at = engine.now();
  const isWaking = to.to === 'running';
  const lastActiveAt = isWaking ? at : record.lastActiveAt;
  return engine.ports.store.moveSandbox(record.id, {
    ...to,
    at,
    ...engine.signature,
    patch: {
      dueAt: dueAt({ ...record, state: to.to, lastActiveAt }),
      ...(isWaking ? { lastActiveAt } : {}),
      ...(isWaking && !record.ephemeral ? engine.ownership : {}),
    },
  });
}

function providerOf(engine: Engine, record: SandboxRecord): Promise<SandboxProvider> {
  return engine.ports.provider(record.provider, record.profile);
}

function assertState(record: SandboxRecord, verb: string, allowed: readonly SandboxState[]): void {
  if (allowed.includes(record.state)) return;
  throw new SubletError('STATE_CONFLICT', `Cannot ${verb} ${record.id}: it is ${record.state}.`, {
    details: { sandboxId: record.id, state: record.state },
    hint: `It must be ${allowed.join(' or ')}.`,
  });
}
