/** Getting a sandbox back: the row says so first, the provider follows, and what fails is tried again by the sweep. */
import type { SandboxState } from '../core/states.ts';
import { statesBefore } from '../core/states.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';
import { describe } from './engine.ts';
import { isGivenUp } from './given-up.ts';
import { assertReachable, callProvider } from './provider-call.ts';
import { retryAt } from './retry-at.ts';

export interface DestroyOptions {
  /** Only this version: someone who used the sandbox in between wins. */
  readonly version?: number | undefined;
  readonly from?: readonly SandboxState[] | undefined;
}

// `destroyed` is left again only for what a provider turns out to have still.
const NOT_YET_GONE = statesBefore('destroying').filter((state) => state !== 'destroyed');

/** A process that began to destroy has this long before another may finish it. */
export const DESTROY_TAKEOVER_MS = 60_000;

/**
 * Destroys it and returns its row; undefined when `options` no longer hold. Already destroyed is success. When the
 * provider fails the error is thrown and the row stays `destroying`, due again later.
 */
export async function destroySandbox(
  engine: Engine,
  record: SandboxRecord,
  cause: string,
  options: DestroyOptions = {},
): Promise<SandboxRecord | undefined> {
  const moved = await beginDestroying(engine, record, cause, options);
  if (moved !== undefined) return finishDestroying(engine, moved);
  const present = await engine.ports.store.getSandbox(record.id);
  if (present?.state !== 'destroying' || options.version !== undefined)
    return present?.state === 'destroyed' ? present : undefined;
  // What this process is still making it undoes itself when there is something to undo.
  return engine.making.has(record.id) ? present : finishDestroying(engine, present);
}

/** The first half: the row says so, and nobody uses it from then on. undefined when `options` no longer hold. */
export async function beginDestroying(
  engine: Engine,
  record: SandboxRecord,
  cause: string,
  options: DestroyOptions = {},
): Promise<SandboxRecord | undefined> {
  await assertReachable(engine, record);
  await engine.register();
  const now = engine.now();
  return engine.ports.store.moveSandbox(record.id, {
    to: 'destroying',
    at: now,
    cause,
    ...engine.signature,
    from: options.from ?? NOT_YET_GONE,
    version: options.version,
    // Whoever destroys it owns it, so that a death on the way is seen to.
    patch: { ownerId: engine.ownerId, dueAt: now + DESTROY_TAKEOVER_MS },
  });
}

/** Goes on with what another began, if nobody else does: undefined when the row has changed since. */
export async function takeOverDestroying(engine: Engine, record: SandboxRecord): Promise<SandboxRecord | undefined> {
  await engine.register();
  const claimed = await engine.ports.store.patchSandbox(
    record.id,
    { ownerId: engine.ownerId, dueAt: engine.now() + DESTROY_TAKEOVER_MS },
    record.version,
  );
  return claimed && finishDestroying(engine, claimed);
}

/** The second half, for a row that is `destroying`: also what the sweep does again. */
export async function finishDestroying(engine: Engine, record: SandboxRecord): Promise<SandboxRecord> {
  const { store, log } = engine.ports;
  await engine.letGo(record.id);
  try {
    await callProvider(engine, record, 'destroy', (provider, ref, signal) => provider.destroy(ref, signal));
  } catch (cause) {
    // When to try again is the word of whoever has claimed it, by its own clock.
    if (record.ownerId === engine.ownerId)
      await store.patchSandbox(record.id, { dueAt: retryAt(record.stateAt, engine.now(), cause) });
    log.warn(
      { sandboxId: record.id, provider: record.provider, error: describe(cause) },
      'sandbox not destroyed; will be tried again',
    );
    throw cause;
  }
  const destroyed = await store.moveSandbox(record.id, {
    to: 'destroyed',
    at: engine.now(),
    cause: record.cause,
    ownerId: engine.ownerId,
    patch: { dueAt: undefined },
  });
  // What was never counted as made is not counted as cleaned.
  if (destroyed !== undefined && !isGivenUp(record)) engine.count(record.kind, 'cleaned');
  // Another may have finished it first.
  return destroyed ?? (await store.getSandbox(record.id)) ?? record;
}
