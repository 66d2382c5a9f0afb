/** What the E2B provider can do, what its profile section takes, and the same read once. */
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';
import type { SdkRequirement } from '../../provider/load-sdk.ts';
import { ServiceOptions } from '../../provider/service/service-options.ts';

export const E2B_SDK: SdkRequirement = { package: 'e2b', range: '^2.51.0' };
export const DESKTOP_SDK: SdkRequirement = { package: '@e2b/desktop', range: '^2.4.0' };

export const API_KEY = 'E2B_API_KEY';

/** `stop` takes the place of `pause` when `keepMemory` is false. */
export const CAPABILITIES: readonly Capability[] = [
  'pause',
  'stop',
  'extend',
  'metrics',
  'pty',
  'ports',
  'labels',
  'network-none',
  'network-open',
  'network-live',
  'background',
  'isolation',
];

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  apiKey: { type: 'string', description: 'the key of the account', secret: API_KEY },
  template: {
    type: 'string',
    description: 'what sandboxes are made from unless an image is named; else base, and desktop for desktops',
  },
  cwd: { type: 'string', description: 'the working directory; made if it is not there', default: '/home/user' },
  timeout: {
    type: 'number',
    description: 'seconds until E2B ends a sandbox that nobody extends, where policy sets no limit',
    default: 300,
  },
  maxTimeout: { type: 'number', description: 'the most seconds that the account allows', default: 3600 },
  onTimeout: { type: 'string', description: 'what E2B does then: kill or pause', default: 'kill' },
  keepMemory: { type: 'boolean', description: 'whether a pause keeps memory and processes', default: true },
  domain: { type: 'string', description: 'the domain of the service, else E2B_DOMAIN, else e2b.app' },
  apiUrl: { type: 'string', description: 'the address of a server that speaks the protocol, else E2B_API_URL' },
  sandboxUrl: { type: 'string', description: 'where its sandboxes are reached, else E2B_SANDBOX_URL' },
};

export interface E2bConfig {
  readonly apiKey: string;
  readonly template: string | undefined;
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly onTimeout: 'kill' | 'pause';
  readonly keepMemory: boolean;
  readonly connection: {
    readonly domain?: string;
    readonly apiUrl?: string;
    readonly sandboxUrl?: string;
  };
}

export const DEFAULT_CWD = '/home/user';

/** AUTH_FAILED without a key, CONFIG_INVALID for a value that cannot be. */
export function readConfig(context: ProviderContext): E2bConfig {
  const options = new ServiceOptions('e2b', context);
  const apiKey = options.key('E2B', API_KEY);
  const seconds = (name: string): number | undefined => options.number(name, { least: 1, isWhole: false });
  const maxTimeoutMs = (seconds('maxTimeout') ?? 3600) * 1000;
  return {
    apiKey,
    template: options.text('template'),
    cwd: options.directory('cwd') ?? DEFAULT_CWD,
    timeoutMs: Math.min((seconds('timeout') ?? 300) * 1000, maxTimeoutMs),
    maxTimeoutMs,
    onTimeout: options.oneOf('onTimeout', ['kill', 'pause']) ?? 'kill',
    keepMemory: context.options['keepMemory'] !== false,
    // What is not said the SDK takes from its own variables.
    connection: Object.fromEntries(
      ['domain', 'apiUrl', 'sandboxUrl'].flatMap((name) => {
        const value = options.text(name);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
  };
}
