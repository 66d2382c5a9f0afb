/** What the E2B provider can do, what its profile section takes, and the same read once. */
import { SubletError } from '../../core/errors.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';
import type { SdkRequirement } from '../../provider/load-sdk.ts';

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
  const { options } = context;
  const apiKey = context.secret(API_KEY);
  if (apiKey === undefined) throw noKeyError();
  const seconds = (name: string, fallback: number): number => positive(name, options[name] ?? fallback) * 1000;
  const maxTimeoutMs = seconds('maxTimeout', 3600);
  return Object.freeze({
    apiKey,
    template: text(options['template']),
    cwd: absolute(text(options['cwd']) ?? DEFAULT_CWD),
    timeoutMs: Math.min(seconds('timeout', 300), maxTimeoutMs),
    maxTimeoutMs,
    onTimeout: onTimeout(options['onTimeout'] ?? 'kill'),
    keepMemory: options['keepMemory'] !== false,
    connection: Object.fromEntries(
      ['domain', 'apiUrl', 'sandboxUrl'].flatMap((name) => {
        const value = text(options[name]);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
  });
}

function noKeyError(): SubletError {
  return new SubletError('AUTH_FAILED', 'The provider "e2b" has no key.', {
    hint: `sublet config set ${API_KEY}, or set the variable ${API_KEY}. Keys: https://e2b.dev/dashboard?tab=keys`,
  });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function positive(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw new SubletError('CONFIG_INVALID', `e2b.${name} is ${JSON.stringify(value)}.`, {
    hint: 'It is a number of seconds above 0.',
  });
}

function absolute(path: string): string {
  if (path.startsWith('/')) return path.replace(/(?<=.)\/+$/, '');
  throw new SubletError('CONFIG_INVALID', `e2b.cwd is "${path}".`, { hint: 'It is an absolute path in the sandbox.' });
}

function onTimeout(value: unknown): 'kill' | 'pause' {
  if (value === 'kill' || value === 'pause') return value;
  throw new SubletError('CONFIG_INVALID', `e2b.onTimeout is ${JSON.stringify(value)}.`, {
    hint: 'It is "kill" or "pause".',
  });
}
