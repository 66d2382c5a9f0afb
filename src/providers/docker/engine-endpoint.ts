/** Where a Docker-compatible engine listens, as its users write it down. */
import { SubletError } from '../../core/errors.ts';

export interface TlsFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly skipVerify: boolean;
}

export type EngineEndpoint =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly tls: TlsFiles | undefined };

const PLAIN_PORT = 2375;
const TLS_PORT = 2376;

/** CONFIG_INVALID for what is no address of an engine. `tls` is used for tcp only. */
export function parseEndpoint(address: string, tls?: TlsFiles): EngineEndpoint {
  if (address.startsWith('/')) return { kind: 'unix', path: address };
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'unix:' && url.pathname.startsWith('/')) {
    return { kind: 'unix', path: decodeURIComponent(url.pathname) };
  }
  if ((url?.protocol === 'tcp:' || url?.protocol === 'http:' || url?.protocol === 'https:') && url.hostname !== '') {
    const isTls = tls !== undefined || url.protocol === 'https:';
    const port = url.port === '' ? (isTls ? TLS_PORT : PLAIN_PORT) : Number(url.port);
    const files = tls ?? { caFile: '', certFile: '', keyFile: '', skipVerify: false };
    return { kind: 'tcp', host: url.hostname.replace(/^\[|\]$/g, ''), port, tls: isTls ? files : undefined };
  }
  throw new SubletError('CONFIG_INVALID', `"${address}" is not the address of an engine that can be spoken to.`, {
    hint:
      url?.protocol === 'ssh:'
        ? 'Forward the socket: ssh -N -L /tmp/docker.sock:/var/run/docker.sock HOST, then use unix:///tmp/docker.sock.'
        : 'Write unix:///path/to/docker.sock or tcp://host:2376.',
  });
}

export function describeEndpoint(endpoint: EngineEndpoint): string {
  if (endpoint.kind === 'unix') return `unix://${endpoint.path}`;
  return `tcp://${endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host}:${endpoint.port}`;
}

/** Whether the engine sees this machine's files and ports. */
export function isLocal(endpoint: EngineEndpoint): boolean {
  return endpoint.kind === 'unix';
}
