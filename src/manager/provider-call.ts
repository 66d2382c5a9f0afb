/** One call to a provider about one sandbox: with an end in time, and errors that are ours. */
import { SubletError, toSubletError } from '../core/errors.ts';
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
  if (isElsewhere(engine, provider, record)) throw wrongHost(record);
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

/** True when the sandbox can only be reached from another machine. */
export function isElsewhere(engine: Engine, provider: SandboxProvider, { hostId }: SandboxRecord): boolean {
  return provider.boundToHost === true && hostId !== engine.ports.identity.hostId;
}

/** WRONG_HOST before anything is written: only its own machine could finish what would be begun. */
export async function assertReachable(engine: Engine, record: SandboxRecord): Promise<void> {
  const provider = await engine.ports.provider(record.provider, record.profile);
  if (isElsewhere(engine, provider, record)) throw wrongHost(record);
}

function wrongHost(record: SandboxRecord): SubletError {
  const host = record.hostName || record.hostId;
  return new SubletError(
    'WRONG_HOST',
    `Sandbox ${record.id} lives on host "${host}", and provider "${record.provider}" works on one machine only.`,
    {
      details: { sandboxId: record.id, host, hostId: record.hostId },
      hint: `Use it from ${host}, or choose a provider that several machines share.`,
    },
  );
}
