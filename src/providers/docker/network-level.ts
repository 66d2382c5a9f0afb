/** A container's network: what it is, and how it is taken away while processes run. */
import { SubletError } from '../../core/errors.ts';
import { isAtLeastAsTight, type NetworkLevel } from '../../core/network.ts';
import type { DockerApi } from './docker-api.ts';
import { isGone, noAllowlistError } from './docker-errors.ts';
import type { ContainerDetails } from './docker-types.ts';

const NONE = 'none';

/** No network but the one that is none: nothing reaches out or in. */
export function networkOf(container: ContainerDetails): NetworkLevel {
  return networkNames(container).length === 0 ? 'none' : 'open';
}

/**
 * Starts a container with the network it had. Docker would give one whose networks were all taken away its first one back,
 * unless it is on "none"; Podman has no such network, and gives nothing back. What is there after the start is looked at.
 */
export async function startAsIs(
  api: DockerApi,
  container: ContainerDetails,
  start: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const isCut = networkOf(container) === 'none' && container.HostConfig.NetworkMode !== NONE;
  if (isCut) await api.connectNetwork(NONE, container.Id, signal).catch(() => undefined);
  await start();
  if (isCut) await setNetworkLevel(api, await api.inspect(container.Id, signal), 'none', signal);
}

/**
 * Takes every network away. The interface goes, and with it every open connection. The container is then on the network
 * "none", because one on no network at all would get its first one back when it is started again.
 */
export async function setNetworkLevel(
  api: DockerApi,
  container: ContainerDetails,
  level: NetworkLevel,
  signal: AbortSignal,
): Promise<void> {
  const present = networkOf(container);
  if (level === 'allowlist') throw noAllowlistError();
  if (present === level) return;
  if (!isAtLeastAsTight(level, present)) {
    throw new SubletError(
      'NETWORK_NOT_ENFORCEABLE',
      `The network of ${container.Name} is "${present}" and only tightens.`,
      {
        hint: 'Create another sandbox for work that needs the network.',
      },
    );
  }
  for (const name of networkNames(container)) {
    await api.disconnectNetwork(name, container.Id, signal).catch(ignoreGone);
  }
  await api.connectNetwork(NONE, container.Id, signal).catch(() => undefined);
  const left = networkNames(await api.inspect(container.Id, signal));
  if (left.length === 0) return;
  throw new SubletError(
    'PROVIDER_UNAVAILABLE',
    `The container ${container.Name} is still on the network ${left.join(', ')}.`,
    {
      hint: 'Destroy the sandbox; the engine does not let go of its network.',
    },
  );
}

function networkNames({ NetworkSettings }: ContainerDetails): string[] {
  return Object.keys(NetworkSettings.Networks ?? {}).filter((name) => name !== NONE);
}

function ignoreGone(error: unknown): void {
  if (!isGone(error)) throw error;
}
