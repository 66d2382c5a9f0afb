/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import { SubletError } from '../../core/errors.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';

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
  const { options } = context;
  const text = (name: string): string | undefined => options[name] as string | undefined;
  const number = (name: string): number | undefined => options[name] as number | undefined;
  const transport = TRANSPORTS.find((each) => each === (text('transport') ?? 'sdk'));
  if (transport === undefined) throw invalid('transport', text('transport'), `One of ${TRANSPORTS.join(', ')}.`);
  const apiUrl = (text('apiUrl') ?? context.secret('DAYTONA_API_URL') ?? DEFAULT_API_URL).replace(/\/+$/, '');
  if (!/^https?:\/\//.test(apiUrl)) throw invalid('apiUrl', apiUrl, 'Give a URL, such as https://example.com/api.');
  const cwd = text('cwd');
  if (cwd !== undefined && !cwd.startsWith('/')) throw invalid('cwd', cwd, 'Give an absolute path.');
  for (const name of ['cpu', 'memoryGiB', 'diskGiB', 'autoArchiveMinutes', 'autoDeleteMinutes']) {
    const value = number(name);
    if (value !== undefined && (!Number.isInteger(value) || value < 0))
      throw invalid(name, String(value), 'Give a whole number.');
  }
  const apiKey = context.secret(API_KEY);
  if (apiKey === undefined || apiKey === '') throw noKeyError();
  return {
    apiKey,
    apiUrl,
    target: text('target') ?? context.secret('DAYTONA_TARGET'),
    transport,
    snapshot: text('snapshot'),
    cwd: cwd?.replace(/(?<=.)\/+$/, ''),
    user: text('user'),
    vm: options['vm'] === true,
    resources: withoutUndefined({ cpu: number('cpu'), memory: number('memoryGiB'), disk: number('diskGiB') }),
    autoArchiveMinutes: number('autoArchiveMinutes'),
    autoDeleteMinutes: number('autoDeleteMinutes'),
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

export function noKeyError(): SubletError {
  return new SubletError('AUTH_FAILED', 'There is no key for Daytona.', {
    hint: `Set ${API_KEY}, or run: sublet config set ${API_KEY}`,
  });
}

function invalid(option: string, value: string | undefined, hint: string): SubletError {
  return new SubletError('CONFIG_INVALID', `daytona.${option} is "${value}", which cannot be.`, { hint });
}

function withoutUndefined<T extends object>(values: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
