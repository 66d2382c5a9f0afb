/** The end of a pool's sandbox: on record at once, at the provider behind the caller's back. */
import type { SandboxRecord } from '../../store/records.ts';
import { finishDestroying } from '../destroy-sandbox.ts';
import type { Engine } from '../engine.ts';
import { assertReachable } from '../provider-call.ts';

/** As for any destroy: whoever began has this long before another may finish it. */
const TAKEOVER_MS = 60_000;

export interface DiscardOptions {
  /** Only while this is its lease. */
  readonly token?: number | undefined;
  /** Only this version. */
  readonly version?: number | undefined;
  /** What differs after a reset, and other things that the reason does not say. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** The reason that every use ends with by default: counted, and no event of its own. */
export const USED_ONCE = 'used once';

/**
 * Resolves when it is on record that nobody gets it any more; false when the row has changed. Should this process die now,
 * recovery destroys it.
 */
export async function discard(
  engine: Engine,
  record: Pick<SandboxRecord, 'id' | 'pool' | 'provider' | 'profile' | 'hostId' | 'hostName'>,
  reason: string,
  options: DiscardOptions = {},
): Promise<boolean> {
  const { store } = engine.ports;
  await assertReachable(engine, record as SandboxRecord);
  const now = engine.now();
  const moved = await store.moveSandbox(record.id, {
    to: 'destroying',
    at: now,
    cause: record.pool === undefined ? reason : `${reason} (pool ${record.pool})`,
    ...engine.signature,
    from: ['running', 'paused', 'stopped'],
    token: options.token,
    version: options.version,
    patch: { ownerId: engine.ownerId, dueAt: now + TAKEOVER_MS },
  });
  if (moved === undefined) return false;
  if (record.pool !== undefined) engine.tallies.discard(record.pool, reason);
  if (record.pool !== undefined && reason !== USED_ONCE) await tell(engine, moved, reason, options.details);
  // A failure is logged there, and the sweep tries again.
  const finishing = finishDestroying(engine, moved).then(
    () => engine.onPoolChange(record.pool),
    () => {},
  );
  engine.inBackground('sandbox not discarded', finishing);
  return true;
}

async function tell(
  engine: Engine,
  { id: sandboxId, pool }: SandboxRecord,
  cause: string,
  more: DiscardOptions['details'],
): Promise<void> {
  const { ownerId, details } = engine.signature;
  await engine.ports.store.appendEvents([
    { at: engine.now(), type: 'pool.discarded', sandboxId, ownerId, cause, details: { pool, ...details, ...more } },
  ]);
}
