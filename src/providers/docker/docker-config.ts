/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxKind } from '../../core/session-key.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderOptionField } from '../../provider/define-provider.ts';

export const CAPABILITIES: readonly Capability[] = [
  'pause',
  'stop',
  'reset',
  'snapshot',
  'metrics',
  'pty',
  'ports',
  'volumes',
  'mounts',
  'labels',
  'network-none',
  'network-open',
  'network-live',
  'limit-memory',
  'limit-cpu',
  'limit-pids',
  'limit-disk',
  'background',
  'isolation',
];

export const DEFAULT_IMAGES: Readonly<Record<SandboxKind, string>> = {
  execution: 'python:3.12-slim',
  app: 'node:20-slim',
  desktop: 'linuxserver/webtop:ubuntu-xfce',
};

/** What package managers need to install as root inside; nothing that reaches beyond the container. */
const DEFAULT_LINUX_CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'SETGID', 'SETUID'];

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  host: { type: 'string', description: 'Where the engine listens: unix:///path or tcp://host:port.' },
  mountPath: { type: 'string', description: 'Working directory inside the container.', default: '/workspace' },
  user: { type: 'string', description: 'User (name or uid, also uid:gid) that commands run as; default: the image’s.' },
  runtime: { type: 'string', description: 'OCI runtime of the engine, such as runsc (gVisor) or kata.' },
  readonlyRootfs: {
    type: 'boolean',
    description: 'The root file system cannot be written; the working directory and temporary ones can.',
    default: false,
  },
  linuxCapabilities: {
    type: 'strings',
    description: `Linux capabilities that are kept; default: ${DEFAULT_LINUX_CAPABILITIES.join(', ')}.`,
  },
  network: { type: 'string', description: 'The engine’s network for the level "open".', default: 'bridge' },
  ports: { type: 'strings', description: 'Ports of the container to publish on this machine’s loopback.' },
  command: {
    type: 'strings',
    description: 'What keeps the container running, for an image without sh: a program in it and its arguments.',
  },
};

export interface DockerConfig {
  readonly host: string | undefined;
  readonly workdir: string;
  readonly user: string | undefined;
  readonly runtime: string | undefined;
  readonly readonlyRootfs: boolean;
  readonly linuxCapabilities: readonly string[];
  readonly network: string;
  readonly ports: readonly number[];
  /** Empty: the image has a shell, and that keeps it running. */
  readonly command: readonly string[];
}

/** CONFIG_INVALID for what no container could be made with. */
export function parseDockerConfig(options: Readonly<Record<string, unknown>>): DockerConfig {
  const text = (name: string): string | undefined => options[name] as string | undefined;
  const texts = (name: string): readonly string[] | undefined => options[name] as readonly string[] | undefined;
  const workdir = text('mountPath') ?? '/workspace';
  if (!workdir.startsWith('/') || workdir === '/' || workdir.includes('\0') || /(^|\/)\.\.?(\/|$)/.test(workdir)) {
    throw invalid('mountPath', workdir, 'Give an absolute path below /, such as /workspace.');
  }
  const network = text('network') ?? 'bridge';
  if (network === 'host' || network.startsWith('container:')) {
    throw invalid('network', network, 'A sandbox gets a network of its own: name a bridge network of the engine.');
  }
  return {
    host: text('host'),
    workdir: workdir.replace(/\/+$/, ''),
    user: text('user'),
    runtime: text('runtime'),
    readonlyRootfs: options['readonlyRootfs'] === true,
    linuxCapabilities: texts('linuxCapabilities') ?? DEFAULT_LINUX_CAPABILITIES,
    network,
    ports: (texts('ports') ?? []).map(parsePort),
    command: texts('command') ?? [],
  };
}

function parsePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw invalid('ports', text, 'A port is a number from 1 to 65535.');
}

function invalid(option: string, value: string, hint: string): SubletError {
  return new SubletError('CONFIG_INVALID', `docker.${option} is "${value}", which cannot be.`, { hint });
}
