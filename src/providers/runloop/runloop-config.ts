/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';
import { ServiceOptions } from '../../provider/service/service-options.ts';

export const CAPABILITIES: readonly Capability[] = [
  'stop',
  'extend',
  'snapshot',
  'ports',
  'labels',
  'network-none',
  'network-open',
  'background',
  'isolation',
];

export const API_KEY = 'RUNLOOP_API_KEY';
export const SDK = { package: '@runloop/api-client', range: '^1.32.0' } as const;
const DEFAULT_URL = 'https://api.runloop.ai';
const DEFAULT_CWD = '/home/user';
const SIZES = ['X_SMALL', 'SMALL', 'MEDIUM', 'LARGE', 'X_LARGE', 'XX_LARGE'] as const;

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  apiKey: { type: 'string', description: 'The key of the account.', secret: API_KEY },
  baseUrl: { type: 'string', description: `Where the API is; else RUNLOOP_BASE_URL, else ${DEFAULT_URL}.` },
  blueprint: { type: 'string', description: 'Name or id of the blueprint when no image is named; default: Runloop’s.' },
  snapshot: { type: 'string', description: 'Id of a disk snapshot to start from when no image is named.' },
  size: { type: 'string', description: `The devbox’s size: ${SIZES.join(', ')}.` },
  cwd: { type: 'string', description: 'Working directory.', default: DEFAULT_CWD },
  noNetworkPolicy: {
    type: 'string',
    description: 'Id of a network policy of the account that allows nothing. Without it the level "none" is refused.',
  },
};

export interface RunloopConfig {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly image: string | undefined;
  readonly size: (typeof SIZES)[number] | undefined;
  readonly cwd: string;
  readonly noNetworkPolicy: string | undefined;
}

/** CONFIG_INVALID for what cannot be, AUTH_FAILED without a key. */
export function parseRunloopConfig(context: ProviderContext): RunloopConfig {
  const options = new ServiceOptions('runloop', context);
  return {
    baseUrl: options.url('baseUrl', 'RUNLOOP_BASE_URL', DEFAULT_URL),
    image: options.text('snapshot') ?? options.text('blueprint'),
    size: options.oneOf('size', SIZES),
    cwd: options.directory('cwd') ?? DEFAULT_CWD,
    noNetworkPolicy: options.text('noNetworkPolicy'),
    apiKey: options.key('Runloop', API_KEY),
  };
}

/** What this configuration leaves of it. */
export function capabilitiesOf({ noNetworkPolicy }: RunloopConfig): ReadonlySet<Capability> {
  return new Set(CAPABILITIES.filter((capability) => capability !== 'network-none' || noNetworkPolicy !== undefined));
}
