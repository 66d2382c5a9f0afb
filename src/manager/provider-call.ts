/** One call to a provider about one sandbox: with an end in time, and errors that are ours. */
import { SubletError, toSubletError } from '../core/errors.ts';
import { isInHome, machineOf } from '../core/host-id.ts';
import type { SandboxProvider, SandboxRef } from '../provider/provider.ts';
import type { SandboxRecord } from '../store/records.ts';
import { withDeadline } from './deadline.ts';
import type { Engine } from './engine.ts';

export type ProviderVerb =
  | 'attach'
  | 'destroy'
  | 'pause'
  | 'resume'
  | 'stop'
  | 'start'
  | 'extend'
  | 'setNetwork'
  | 'metrics'
  | 'reset';

/** PROVIDER_UNAVAILABLE when it does not answer in time or fails in words of its own. */
export async function callProvider<T>(
  engine: Engine,
  record: SandboxRecord,
  verb: ProviderVerb,
  call: (provider: SandboxProvider, ref: SandboxRef, signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { providerTimeoutMs: ms } = engine.config;
  const late = (): SubletError =>
    new SubletError(
      'PROVIDER_UNAVAILABLE',
      `Provider "${record.provider}" did not answer ${verb} for ${record.id} within ${ms / 1000} s.`,
      {
        details: { provider: record.provider, sandboxId: record.id, verb },
        hint: 'Try again; `sublet doctor` shows what is wrong with a provider.',
      },
    );
  const provider = await engine.ports.provider(record.provider, record.profile);
  if (isElsewhere(engine, provider, record)) throw wrongHost(engine, record);
  try {
    return await withDeadline(engine.ports.clock, { ms, late, signals: [signal] }, (both) =>
      call(provider, refOf(record), both),
    );
  } catch (cause) {
    throw toSubletError(cause, 'PROVIDER_UNAVAILABLE', signal);
  }
}

export function refOf(record: SandboxRecord): SandboxRef {
  return record.providerId === undefined ? { name: record.name } : { name: record.name, providerId: record.providerId };
}

/** True when the sandbox can only be reached from another machine, or from another home of this one. */
export function isElsewhere(engine: Engine, provider: SandboxProvider, { hostId }: SandboxRecord): boolean {
  const here = engine.ports.identity.hostId;
  if (provider.boundToHost === 'home') return !isInHome(hostId, here);
  return provider.boundToHost === true && machineOf(hostId) !== machineOf(here);
}

/** What one who lists the provider's sandboxes sees all of; undefined when that is everything. */
export function placeOf(engine: Engine, provider: SandboxProvider): string | undefined {
  const { hostId } = engine.ports.identity;
  if (provider.boundToHost === 'home') return hostId;
  return provider.boundToHost === true ? machineOf(hostId) : undefined;
}

/** WRONG_HOST before anything is written: only its own machine could finish what would be begun. */
export async function assertReachable(engine: Engine, record: SandboxRecord): Promise<void> {
  const provider = await engine.ports.provider(record.provider, record.profile);
  if (isElsewhere(engine, provider, record)) throw wrongHost(engine, record);
}

function wrongHost(engine: Engine, record: SandboxRecord): SubletError {
  const host = record.hostName || record.hostId;
  const isHere = machineOf(record.hostId) === machineOf(engine.ports.identity.hostId);
  const [where, reach] = isHere
    ? [`in another home of host "${host}"`, 'one home']
    : [`on host "${host}"`, 'one machine'];
  return new SubletError(
    'WRONG_HOST',
    `Sandbox ${record.id} lives ${where}, and provider "${record.provider}" works in ${reach} only.`,
    {
      details: { sandboxId: record.id, host, hostId: record.hostId },
      hint: `Use it from there, or choose a provider that several share.`,
    },
  );
}
