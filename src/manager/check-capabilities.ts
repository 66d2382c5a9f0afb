/** Refuses what a provider cannot do, before anything is made. */
import { SubletError } from '../core/errors.ts';
import type { NetworkLevel } from '../core/network.ts';
import { NETWORK_LEVELS } from '../core/network.ts';
import type { Limits, ResolvedSandbox } from '../core/spec.ts';
import type { Capability } from '../provider/capabilities.ts';
import type { SandboxProvider } from '../provider/provider.ts';

type Abilities = Pick<SandboxProvider, 'id' | 'capabilities'>;

const LIMIT_CAPABILITY: Readonly<Record<keyof Limits, Capability>> = {
  memoryBytes: 'limit-memory',
  cpuMillis: 'limit-cpu',
  pids: 'limit-pids',
  diskBytes: 'limit-disk',
};

/** NETWORK_NOT_ENFORCEABLE for the network level, UNSUPPORTED for the rest; both name the provider and the ability. */
export function checkCapabilities(provider: Abilities, wanted: ResolvedSandbox): void {
  if (!provider.capabilities.has(`network-${wanted.network}`)) throw networkError(provider, wanted.network);
  if (wanted.mounts.length > 0) requireCapability(provider, 'mounts');
  if (wanted.contextId !== undefined) requireCapability(provider, 'volumes');
  for (const need of wanted.needs ?? []) requireCapability(provider, need);
  for (const [limit, capability] of Object.entries(LIMIT_CAPABILITY)) {
    if (wanted.limits[limit as keyof Limits] !== undefined) requireCapability(provider, capability);
  }
}

export function requireCapability(provider: Abilities, capability: Capability): void {
  if (provider.capabilities.has(capability)) return;
  throw new SubletError('UNSUPPORTED', `Provider "${provider.id}" cannot do "${capability}".`, {
    details: { provider: provider.id, capability },
    hint: `It can do: ${[...provider.capabilities].toSorted().join(', ')}.`,
  });
}

function networkError(provider: Abilities, network: NetworkLevel): SubletError {
  const possible = NETWORK_LEVELS.filter((level) => provider.capabilities.has(`network-${level}`));
  return new SubletError(
    'NETWORK_NOT_ENFORCEABLE',
    `Provider "${provider.id}" cannot enforce the network level "${network}".`,
    {
      details: { provider: provider.id, capability: `network-${network}` },
      hint: possible.length === 0 ? 'Choose another provider.' : `It can enforce: ${possible.join(', ')}.`,
    },
  );
}
