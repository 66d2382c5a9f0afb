/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import { SubletError } from '../../core/errors.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';

export const CAPABILITIES: readonly Capability[] = [
  'stop',
  'extend',
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
  const { options } = context;
  const text = (name: string): string | undefined => options[name] as string | undefined;
  const baseUrl = (text('baseUrl') ?? context.secret('RUNLOOP_BASE_URL') ?? DEFAULT_URL).replace(/\/+$/, '');
  if (!/^https?:\/\//.test(baseUrl)) throw invalid('baseUrl', baseUrl, `Give a URL, such as ${DEFAULT_URL}.`);
  const cwd = (text('cwd') ?? DEFAULT_CWD).replace(/(?<=.)\/+$/, '');
  if (!cwd.startsWith('/')) throw invalid('cwd', cwd, 'Give an absolute path.');
  const size = SIZES.find((each) => each === text('size'));
  if (text('size') !== undefined && size === undefined)
    throw invalid('size', text('size'), `One of ${SIZES.join(', ')}.`);
  const apiKey = context.secret(API_KEY);
  if (apiKey === undefined || apiKey === '') {
    throw new SubletError('AUTH_FAILED', 'There is no key for Runloop.', {
      hint: `Set ${API_KEY}, or run: sublet config set ${API_KEY}`,
    });
  }
  return {
    apiKey,
    baseUrl,
    image: text('snapshot') ?? text('blueprint'),
    size,
    cwd,
    noNetworkPolicy: text('noNetworkPolicy'),
  };
}

/** What this configuration leaves of it. */
export function capabilitiesOf({ noNetworkPolicy }: RunloopConfig): ReadonlySet<Capability> {
  return new Set(CAPABILITIES.filter((capability) => capability !== 'network-none' || noNetworkPolicy !== undefined));
}

function invalid(option: string, value: string | undefined, hint: string): SubletError {
  return new SubletError('CONFIG_INVALID', `runloop.${option} is "${value}", which cannot be.`, { hint });
}
