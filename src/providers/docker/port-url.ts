/** Where a port of a container is reached from this machine. Pure. */
import { SubletError } from '../../core/errors.ts';
import type { ContainerDetails } from './docker-types.ts';
import type { EngineEndpoint } from './engine-endpoint.ts';

/** A published port on loopback, or the container's own address on a Linux machine. UNSUPPORTED when there is no way. */
export function portUrlOf(
  details: ContainerDetails,
  port: number,
  endpoint: EngineEndpoint,
  platform: string = process.platform,
): string {
  const { Ports, Networks } = details.NetworkSettings;
  const published = Ports?.[`${port}/tcp`]?.[0];
  if (published !== undefined) {
    const host = endpoint.kind === 'tcp' ? endpoint.host : '127.0.0.1';
    return `http://${host.includes(':') ? `[${host}]` : host}:${published.HostPort}`;
  }
  const address = Object.values(Networks ?? {}).find(({ IPAddress }) => (IPAddress ?? '') !== '')?.IPAddress;
  if (address !== undefined && endpoint.kind === 'unix' && platform === 'linux') return `http://${address}:${port}`;
  throw new SubletError(
    'UNSUPPORTED',
    `Port ${port} of ${details.Name.replace(/^\//, '')} cannot be reached from here.`,
    {
      hint:
        address === undefined
          ? 'The sandbox has no network: create it with network "open".'
          : `Publish it: add "${port}" to docker.ports in the profile, and create the sandbox again.`,
    },
  );
}
