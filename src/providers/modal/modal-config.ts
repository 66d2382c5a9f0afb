/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';
import { ServiceOptions } from '../../provider/service/service-options.ts';

export const CAPABILITIES: readonly Capability[] = [
  'stop',
  'snapshot',
  'pty',
  'ports',
  'labels',
  'network-none',
  'network-open',
  'background',
  'isolation',
];

export const TOKEN_ID = 'MODAL_TOKEN_ID';
export const TOKEN_SECRET = 'MODAL_TOKEN_SECRET';
/** Exact: under the same name there are versions 1.x, which are another package. */
export const SDK = { package: 'modal', range: '0.11.1' } as const;
const DEFAULT_URL = 'https://api.modal.com:443';
const DEFAULT_APP = 'sublet';
const DEFAULT_IMAGE = 'debian:bookworm-slim';
const DEFAULT_CWD = '/workspace';
const DEFAULT_KEEP_DAYS = 30;
/** Modal gives no longer life. */
const MAX_LIFETIME_MINUTES = 24 * 60;
const NAME = /^[a-zA-Z0-9\-_.]{1,64}$/;

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  tokenId: { type: 'string', description: 'The id of the token.', secret: TOKEN_ID },
  tokenSecret: { type: 'string', description: 'The secret of the token.', secret: TOKEN_SECRET },
  serverUrl: { type: 'string', description: `Where the API is; else MODAL_SERVER_URL, else ${DEFAULT_URL}.` },
  environment: {
    type: 'string',
    description: 'Environment of the workspace; else MODAL_ENVIRONMENT, else its default.',
  },
  app: { type: 'string', description: 'The app that has the sandboxes; made if there is none.', default: DEFAULT_APP },
  image: { type: 'string', description: 'Image when the profile names none.', default: DEFAULT_IMAGE },
  cwd: { type: 'string', description: 'Working directory.', default: DEFAULT_CWD },
  lifetimeMinutes: {
    type: 'number',
    description: 'After this long Modal ends a sandbox, in use or not. It cannot be extended.',
    default: MAX_LIFETIME_MINUTES,
  },
  idleMinutes: {
    type: 'number',
    description: 'Modal ends a sandbox that was idle this long; default: for ephemeral ones, the time of the policy.',
  },
  keepStoppedDays: {
    type: 'number',
    description: 'So long the disk of a stopped sandbox is kept.',
    default: DEFAULT_KEEP_DAYS,
  },
  ports: { type: 'strings', description: 'Ports that can be reached from outside, such as "8080".' },
  region: { type: 'string', description: 'Where sandboxes run, such as "us-east"; default: anywhere.' },
  cpu: { type: 'number', description: 'CPU cores that a sandbox is given; default: Modal’s.' },
  memoryMb: { type: 'number', description: 'MiB of memory that a sandbox is given; default: Modal’s.' },
};

export interface ModalConfig {
  readonly tokenId: string;
  readonly tokenSecret: string;
  readonly serverUrl: string;
  readonly environment: string | undefined;
  readonly app: string;
  readonly image: string;
  readonly cwd: string;
  readonly lifetimeSecs: number;
  readonly idleSecs: number | undefined;
  readonly keepStoppedSecs: number;
  readonly ports: readonly number[];
  readonly region: string | undefined;
  readonly cpu: number | undefined;
  readonly memoryMb: number | undefined;
}

/** CONFIG_INVALID for what cannot be, AUTH_FAILED without a key. */
export function parseModalConfig(context: ProviderContext): ModalConfig {
  const options = new ServiceOptions('modal', context);
  const app = options.text('app') ?? DEFAULT_APP;
  if (!NAME.test(app)) throw options.invalid('app', app, 'At most 64 letters, digits, dashes, dots and underscores.');
  const idleMinutes = options.number('idleMinutes', { least: 1 });
  return {
    serverUrl: options.url('serverUrl', 'MODAL_SERVER_URL', DEFAULT_URL),
    environment: options.text('environment', 'MODAL_ENVIRONMENT'),
    app,
    image: options.text('image') ?? DEFAULT_IMAGE,
    cwd: options.directory('cwd') ?? DEFAULT_CWD,
    lifetimeSecs: lifetimeMinutes(options) * 60,
    idleSecs: idleMinutes === undefined ? undefined : idleMinutes * 60,
    keepStoppedSecs: (options.number('keepStoppedDays', { least: 1 }) ?? DEFAULT_KEEP_DAYS) * 24 * 3600,
    ports: ((context.options['ports'] as readonly string[] | undefined) ?? []).map((port) => portOf(port, options)),
    region: options.text('region'),
    cpu: options.number('cpu', { least: 0.125, isWhole: false }),
    memoryMb: options.number('memoryMb', { least: 1 }),
    tokenId: options.key('Modal', TOKEN_ID),
    tokenSecret: options.key('Modal', TOKEN_SECRET),
  };
}

function lifetimeMinutes(options: ServiceOptions): number {
  const minutes = options.number('lifetimeMinutes', { least: 1 }) ?? MAX_LIFETIME_MINUTES;
  if (minutes <= MAX_LIFETIME_MINUTES) return minutes;
  throw options.invalid('lifetimeMinutes', minutes, `Modal gives ${MAX_LIFETIME_MINUTES} minutes at most.`);
}

function portOf(text: string, options: ServiceOptions): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw options.invalid('ports', text, 'Give numbers from 1 to 65535.');
}
