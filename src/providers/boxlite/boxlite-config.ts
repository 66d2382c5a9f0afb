/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import { join } from 'node:path';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';
import { ServiceOptions } from '../../provider/service/service-options.ts';

export const CAPABILITIES: readonly Capability[] = [
  'stop',
  'extend',
  'metrics',
  'ports',
  'labels',
  'network-none',
  'network-open',
  'background',
  'isolation',
];

export const API_KEY = 'BOXLITE_API_KEY';
export const SDK = { package: '@boxlite-ai/boxlite', range: '>=0.10.0 <1' } as const;
const DEFAULT_CWD = '/workspace';
const DEFAULT_IMAGE = 'alpine:latest';

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  url: {
    type: 'string',
    description: 'A BoxLite server; else BOXLITE_REST_URL. Without one, VMs are of this machine.',
  },
  apiKey: { type: 'string', description: 'The key for the server, if it wants one.', secret: API_KEY },
  pathPrefix: { type: 'string', description: 'What comes before the boxes in the server’s paths.' },
  home: { type: 'string', description: 'Where VMs of this machine are kept; default: in the home of Sublet.' },
  rootfs: { type: 'string', description: 'A directory with an OCI layout on this machine, in place of an image.' },
  cpus: { type: 'number', description: 'Processors of a box.' },
  memoryMiB: { type: 'number', description: 'Memory of a box, at least 128.' },
  diskGiB: { type: 'number', description: 'Disk of a box.' },
  cwd: { type: 'string', description: 'Working directory.', default: DEFAULT_CWD },
  ports: {
    type: 'strings',
    description:
      'Ports inside that are reached on this machine, each from a free port above 10000. At a server all are.',
  },
  autoRemove: {
    type: 'boolean',
    description: 'A VM of this machine is removed when it stops, so it cannot be stopped and started.',
    default: false,
  },
};

/** At a server, or on this machine. */
export type BoxlitePlace =
  | {
      readonly kind: 'server';
      readonly url: string;
      readonly apiKey: string | undefined;
      readonly prefix: string | undefined;
    }
  | { readonly kind: 'machine'; readonly home: string };

export interface BoxliteConfig {
  readonly place: BoxlitePlace;
  readonly image: string;
  readonly rootfs: string | undefined;
  readonly cpus: number | undefined;
  readonly memoryMiB: number | undefined;
  readonly diskGiB: number | undefined;
  readonly cwd: string;
  readonly ports: readonly number[];
  readonly autoRemove: boolean;
}

/** CONFIG_INVALID for what cannot be. */
export function parseBoxliteConfig(context: ProviderContext): BoxliteConfig {
  const options = new ServiceOptions('boxlite', context);
  return {
    place: placeOf(options, context),
    image: DEFAULT_IMAGE,
    rootfs: options.directory('rootfs'),
    cpus: options.number('cpus', { least: 1 }),
    memoryMiB: options.number('memoryMiB', { least: 128 }),
    diskGiB: options.number('diskGiB', { least: 1 }),
    cwd: options.directory('cwd') ?? DEFAULT_CWD,
    ports: portsIn(options, context.options['ports']),
    autoRemove: options.isTrue('autoRemove'),
  };
}

/** What this configuration leaves of it. */
export function capabilitiesOf({ place, autoRemove }: BoxliteConfig): ReadonlySet<Capability> {
  const missing = new Set<Capability>([
    ...(autoRemove ? (['stop'] as const) : []),
    // What runs here is ended by nobody but us.
    ...(place.kind === 'machine' ? (['extend'] as const) : []),
  ]);
  return new Set(CAPABILITIES.filter((capability) => !missing.has(capability)));
}

function placeOf(options: ServiceOptions, context: ProviderContext): BoxlitePlace {
  const url = options.text('url', 'BOXLITE_REST_URL');
  if (url === undefined) return { kind: 'machine', home: options.directory('home') ?? join(context.stateDir, 'home') };
  return {
    kind: 'server',
    url: options.url('url', 'BOXLITE_REST_URL', 'http://localhost:8100'),
    apiKey: context.secret(API_KEY),
    prefix: options.text('pathPrefix'),
  };
}

function portsIn(options: ServiceOptions, value: unknown): readonly number[] {
  const texts = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return texts.map((text) => {
    const port = Number(text);
    if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
    throw options.invalid('ports', text, 'Give numbers from 1 to 65535.');
  });
}
