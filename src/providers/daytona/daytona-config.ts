/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';
import { ServiceOptions } from '../../provider/service/service-options.ts';

export const CAPABILITIES: readonly Capability[] = [
  'pause',
  'stop',
  'extend',
  'pty',
  'ports',
  'volumes',
  'labels',
  'network-none',
  'network-open',
  'network-live',
  'background',
  'isolation',
];

export const API_KEY = 'DAYTONA_API_KEY';
export const SDK = { package: '@daytona/sdk', range: '>=0.216.0 <1' } as const;
const DEFAULT_API_URL = 'https://app.daytona.io/api';
const TRANSPORTS = ['sdk', 'toolbox'] as const;

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  apiKey: { type: 'string', description: 'The key of the account or server.', secret: API_KEY },
  apiUrl: { type: 'string', description: `Where the API is; else DAYTONA_API_URL, else ${DEFAULT_API_URL}.` },
  target: { type: 'string', description: 'The region; else DAYTONA_TARGET, else the organisation’s.' },
  transport: {
    type: 'string',
    description:
      'sdk: through @daytona/sdk, with terminals. toolbox: plain HTTP and no package, for a server of your own.',
    default: 'sdk',
  },
  snapshot: {
    type: 'string',
    description: 'The snapshot to start from when no image is named; default: the server’s.',
  },
  cwd: { type: 'string', description: 'Working directory; default: the one that the sandbox names.' },
  user: { type: 'string', description: 'User that commands run as; default: the snapshot’s.' },
  vm: { type: 'boolean', description: 'The snapshot is of a class that can be paused.', default: false },
  cpu: { type: 'number', description: 'Cores, for an image.' },
  memoryGiB: { type: 'number', description: 'Memory, for an image.' },
  diskGiB: { type: 'number', description: 'Disk, for an image.' },
  autoArchiveMinutes: { type: 'number', description: 'Stopped this long: its disk goes to cold storage.' },
  autoDeleteMinutes: { type: 'number', description: 'Stopped this long: Daytona deletes it. Default: never.' },
};

export interface DaytonaConfig {
  readonly apiKey: string;
  readonly apiUrl: string;
  readonly target: string | undefined;
  readonly transport: (typeof TRANSPORTS)[number];
  readonly snapshot: string | undefined;
  readonly cwd: string | undefined;
  readonly user: string | undefined;
  readonly vm: boolean;
  readonly resources: { readonly cpu?: number; readonly memory?: number; readonly disk?: number };
  readonly autoArchiveMinutes: number | undefined;
  readonly autoDeleteMinutes: number | undefined;
}

/** CONFIG_INVALID for what cannot be, AUTH_FAILED without a key. */
export function parseDaytonaConfig(context: ProviderContext): DaytonaConfig {
  const options = new ServiceOptions('daytona', context);
  const [cpu, memory, disk] = [options.number('cpu'), options.number('memoryGiB'), options.number('diskGiB')];
  return {
    transport: options.oneOf('transport', TRANSPORTS) ?? 'sdk',
    apiUrl: options.url('apiUrl', 'DAYTONA_API_URL', DEFAULT_API_URL),
    target: options.text('target', 'DAYTONA_TARGET'),
    snapshot: options.text('snapshot'),
    cwd: options.directory('cwd'),
    user: options.text('user'),
    vm: options.isTrue('vm'),
    resources: withoutUndefined({ cpu, memory, disk }),
    autoArchiveMinutes: options.number('autoArchiveMinutes'),
    autoDeleteMinutes: options.number('autoDeleteMinutes'),
    apiKey: options.key('Daytona', API_KEY),
  };
}

/** What this configuration leaves of it. */
export function capabilitiesOf(config: DaytonaConfig): ReadonlySet<Capability> {
  const missing: readonly Capability[] = [
    ...(config.vm ? [] : (['pause'] as const)),
    ...(config.transport === 'sdk' ? [] : (['pty'] as const)),
  ];
  return new Set(CAPABILITIES.filter((capability) => !missing.includes(capability)));
}

function withoutUndefined<T extends object>(values: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
