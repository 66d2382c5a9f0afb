/** The network of a leased sandbox, tightened for good: cut at once, or the sandbox is put to rest. */
import { SubletError } from '../core/errors.ts';
import type { NetworkLevel } from '../core/network.ts';
import { isAtLeastAsTight, violates } from '../core/network.ts';
import type { SandboxRecord } from '../store/records.ts';
import { containUncut } from './contain.ts';
import type { Engine } from './engine.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { cutNetwork } from './ready-sandbox.ts';

const HINT = 'Release the lease and take another from a profile whose network is "none" from the start.';

/** STATE_CONFLICT for a weaker level than the present one; NETWORK_NOT_ENFORCEABLE when it had to be put to rest instead. */
export async function tightenLeased(
  engine: Engine,
  live: LiveSandbox,
  level: NetworkLevel,
  reason: string,
): Promise<void> {
  await engine.register();
  const record = (await engine.ports.store.getSandbox(live.id)) ?? live.record;
  if (!isAtLeastAsTight(level, record.network)) throw looserError(record, level);
  // First on record: whoever attaches from now on sees to it too.
  const tightened = await putOnRecord(engine, record, level, reason);
  if (live.network !== 'unknown' && !violates(live.network, level)) return;
  const putToRest = (cause: unknown): Promise<never> => containUncut(engine, tightened, cause, HINT);
  const isCut = await cutNetwork(engine, tightened).catch(putToRest);
  if (!isCut) await putToRest(undefined);
  live.network = level;
}

/** A session's sandbox takes its session along. */
async function putOnRecord(
  engine: Engine,
  record: SandboxRecord,
  level: NetworkLevel,
  reason: string,
): Promise<SandboxRecord> {
  const { store } = engine.ports;
  const { id, sessionKey, network } = record;
  if (sessionKey !== undefined) {
    const bound = await store.tightenSession(sessionKey, level, reason, engine.now());
    if (bound?.sandbox.id === id) return bound.sandbox;
  }
  const patched = (await store.patchSandbox(id, { network: level })) ?? { ...record, network: level };
  if (patched.network !== network) {
    const details = { from: network, to: level };
    const event = { at: engine.now(), type: 'network.tightened', sandboxId: id, ownerId: engine.ownerId } as const;
    await store.appendEvents([{ ...event, cause: reason, details }]);
  }
  return patched;
}

function looserError({ id, network }: SandboxRecord, level: NetworkLevel): SubletError {
  return new SubletError('STATE_CONFLICT', `The network of ${id} is "${network}" and does not loosen to "${level}".`, {
    details: { sandboxId: id, network },
    retryable: false,
    hint: 'A network only tightens. Take a lease on another sandbox for work that needs more.',
  });
}
