/** What becomes of a pool's sandbox after its use: reset and idle again, or gone. Nobody ever gets it as it was left. */
import { whyDiscard } from '../../core/pool-policy.ts';
import type { PoolTerms } from '../../core/pool-settings.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Engine } from '../engine.ts';
import { describe } from '../engine.ts';
import type { KeptLease } from '../kept-lease.ts';
import { LiveSandbox } from '../live-sandbox.ts';
import { callProvider } from '../provider-call.ts';
import { USED_ONCE, discard } from './discard.ts';

/**
 * How a holder lets go: exactly once, whoever asks first. Resolves when it is on record that the holder has it no more; a reset
 * goes on behind its back, under the lease that it had. A lease that is lost ends the same way.
 */
export function endWith(engine: Engine, kept: KeptLease, record: SandboxRecord): (cause: string) => Promise<void> {
  let ended: Promise<void> | undefined;
  const gone = async (reason: string, details?: Readonly<Record<string, unknown>>): Promise<void> => {
    kept.end();
    await discard(engine, record, reason, { token: kept.token, details });
  };
  kept.lost.addEventListener('abort', () => {
    ended ??= gone('lease lost');
    engine.inBackground('lost sandbox not discarded', ended);
  });
  return (cause) => {
    // Who leaves does not wait for a reset, its own or one that goes on.
    if (engine.closing.aborted && ended === undefined) ended = gone(record.terms === undefined ? cause : USED_ONCE);
    ended ??= letGo(engine, kept, record, gone);
    return ended;
  };
}

async function letGo(
  engine: Engine,
  kept: KeptLease,
  { id, terms }: SandboxRecord,
  gone: (reason: string, details?: Readonly<Record<string, unknown>>) => Promise<void>,
): Promise<void> {
  if (terms?.reuse !== 'reset') return gone(USED_ONCE);
  const present = await engine.ports.store.getSandbox(id);
  if (present?.lease?.token !== kept.token) return kept.end();
  const reason = await whyNot(engine, present, terms);
  if (reason !== undefined) return gone(reason);
  engine.inBackground(
    'sandbox not reset',
    resetAndReturn(engine, kept, present, gone).catch(async (cause: unknown) => {
      engine.ports.log.warn({ sandboxId: id, error: describe(cause) }, 'sandbox not reset; it is discarded');
      await gone('reset failed', { error: describe(cause) });
    }),
  );
}

async function whyNot(engine: Engine, present: SandboxRecord, terms: PoolTerms): Promise<string | undefined> {
  const { capabilities } = await engine.ports.provider(present.provider, present.profile);
  const { network, fence: uses } = present;
  return whyDiscard({ network, terms, uses, canReset: capabilities.has('reset') }, engine.now());
}

async function resetAndReturn(
  engine: Engine,
  kept: KeptLease,
  record: SandboxRecord,
  gone: (reason: string, details?: Readonly<Record<string, unknown>>) => Promise<void>,
): Promise<void> {
  const { store } = engine.ports;
  const { id, pool = '' } = record;
  // What the last holder started is told that its sandbox is gone, and stays out of the next one's.
  await engine.letGo(id);
  const report = await callProvider(
    engine,
    record,
    'reset',
    async (provider, ref, signal) => provider.reset?.(ref, signal, { env: {} }),
    engine.closing,
  );
  if (report?.clean !== true) return gone('reset not clean', { differences: report?.differences ?? [] });
  const handle = await callProvider(engine, record, 'attach', (provider, ref, signal) => provider.attach(ref, signal));
  if (handle === undefined || handle.state === 'paused' || handle.state === 'stopped') {
    await handle?.close();
    return gone('not running after its reset');
  }
  // The lease that kept others away may have ended meanwhile.
  kept.assertKept();
  const back = await store.pools.giveBack(id, kept.token, 'reset, and shown to be as it was made', engine.now());
  kept.end();
  if (back === undefined) return handle.close();
  const live = new LiveSandbox(back, handle, {}, engine.now());
  live.lastHealthyAt = engine.now();
  engine.lives.set(id, live);
  engine.tallies.count(pool, 'resets');
  engine.onPoolChange(pool);
}
