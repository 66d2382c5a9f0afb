/** From a row that was taken from a pool to a sandbox in its holder's hands. */
import type { Lease } from '../../core/api.ts';
import { SubletError, toSubletError } from '../../core/errors.ts';
import type { Engine } from '../engine.ts';
import type { SandboxRecord } from '../../store/records.ts';
import { withDeadline } from '../deadline.ts';
import { KeptLease } from '../kept-lease.ts';
import { toLease } from '../lease-sandbox.ts';
import type { LiveSandbox } from '../live-sandbox.ts';
import { isUsable, readySandbox } from '../ready-sandbox.ts';
import { endWith } from './after-use.ts';
import { discard } from './discard.ts';
import type { Taken } from './pool-queue.ts';

export interface HandOverOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
  /** What the caller has left to wait. */
  readonly leftMs: number;
}

/** One that has to be woken may take this long, also for those whose time is over. */
const WAKE_MS = 30_000;

/** undefined when it turned out to be of no use: it is discarded, and the caller takes another. */
export async function handOver(
  engine: Engine,
  { record, askedAt }: Taken,
  { env, signal, leftMs }: HandOverOptions,
): Promise<Lease | undefined> {
  if (record.lease === undefined) throw new SubletError('INTERNAL', 'A sandbox was taken without a lease.');
  const kept = new KeptLease(engine, record.id, record.lease, askedAt);
  kept.giveBack = endWith(engine, kept, record);
  try {
    const live = await makeReady(engine, record, signal, Math.max(leftMs, WAKE_MS));
    if (live === undefined) {
      kept.end();
      await discard(engine, record, 'not usable when it was handed over', { token: kept.token });
      return undefined;
    }
    live.record = record;
    return toLease(engine, kept, live, env);
  } catch (cause) {
    kept.end();
    const reason =
      signal?.aborted === true ? 'given up on while it was handed over' : 'not usable when it was handed over';
    await discard(engine, record, reason, { token: kept.token });
    if (signal?.aborted === true || engine.closing.aborted) throw toSubletError(cause, 'PROVIDER_UNAVAILABLE', signal);
    return undefined;
  }
}

async function makeReady(
  engine: Engine,
  record: SandboxRecord,
  signal: AbortSignal | undefined,
  ms: number,
): Promise<LiveSandbox | undefined> {
  const live = engine.lives.get(record.id);
  // Another process had it since, and a reset ends every handle from before.
  if (live !== undefined && live.record.fence + 1 !== record.fence) await engine.letGo(record.id);
  else if (live !== undefined && !live.isResting && isUsable(engine, record, live)) return live;
  engine.ports.watch?.(engine.ownerId, record.provider);
  const cause = `leased to ${record.lease?.holder}`;
  const late = (): SubletError =>
    new SubletError('PROVIDER_UNAVAILABLE', `Sandbox ${record.id} was not ready within ${ms / 1000} s.`);
  const readiness = await withDeadline(engine.ports.clock, { ms, late, signals: [signal] }, (either) =>
    readySandbox(engine, record, { env: async () => ({}), cause, signal: either }),
  );
  if (readiness.status === 'unsafe') await readiness.live.close();
  // One that was found without processes is not what the pool made ready.
  return readiness.status === 'ready' && readiness.restarted !== true ? readiness.live : undefined;
}
