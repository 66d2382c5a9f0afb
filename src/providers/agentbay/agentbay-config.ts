/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';
import { ServiceOptions } from '../../provider/service/service-options.ts';

export const CAPABILITIES: readonly Capability[] = [
  'pause',
  'extend',
  'metrics',
  'ports',
  'volumes',
  'labels',
  'network-none',
  'network-open',
  'background',
  'isolation',
];

export const API_KEY = 'AGENTBAY_API_KEY';
const DEFAULT_REGION = 'ap-southeast-1';
const DEFAULT_CWD = '/root';

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  apiKey: { type: 'string', description: 'The key of the account.', secret: API_KEY },
  region: {
    type: 'string',
    description: `Where sessions and contexts are made; else AGENTBAY_REGION_ID, else ${DEFAULT_REGION}.`,
  },
  endpoint: {
    type: 'string',
    description:
      'The gateway, as a host or a URL; else AGENTBAY_ENDPOINT, else that of the region. A key is of one gateway.',
  },
  imageId: { type: 'string', description: 'The image when none is named, such as linux_latest; default: AgentBay’s.' },
  cwd: { type: 'string', description: 'Working directory, and where a context is.', default: DEFAULT_CWD },
  policy: { type: 'string', description: 'Id of the policy that sessions are made with.' },
  noNetworkPolicy: {
    type: 'string',
    description: 'Id of a policy of the account that allows no network. Without it the level "none" is refused.',
  },
  noPause: {
    type: 'boolean',
    description: 'The account’s benefit level has no pause: it is not tried.',
    default: false,
  },
};

export interface AgentBayConfig {
  readonly apiKey: string;
  readonly region: string;
  readonly endpoint: string;
  readonly imageId: string | undefined;
  readonly cwd: string;
  readonly policy: string | undefined;
  readonly noNetworkPolicy: string | undefined;
  readonly canPause: boolean;
}

/** CONFIG_INVALID for what cannot be, AUTH_FAILED without a key. */
export function parseAgentBayConfig(context: ProviderContext): AgentBayConfig {
  const options = new ServiceOptions('agentbay', context);
  const region = options.text('region', 'AGENTBAY_REGION_ID') ?? DEFAULT_REGION;
  return {
    region,
    endpoint: toUrl(options.text('endpoint', 'AGENTBAY_ENDPOINT') ?? gatewayOf(region), options),
    imageId: options.text('imageId'),
    cwd: options.directory('cwd') ?? DEFAULT_CWD,
    policy: options.text('policy'),
    noNetworkPolicy: options.text('noNetworkPolicy'),
    canPause: !options.isTrue('noPause'),
    apiKey: options.key('AgentBay', API_KEY),
  };
}

/** What this configuration leaves of it. */
export function capabilitiesOf({ noNetworkPolicy, canPause }: AgentBayConfig): ReadonlySet<Capability> {
  const missing = new Set<Capability>([
    ...(noNetworkPolicy === undefined ? (['network-none'] as const) : []),
    ...(canPause ? [] : (['pause'] as const)),
  ]);
  return new Set(CAPABILITIES.filter((capability) => !missing.has(capability)));
}

/** There are two: one for China and one for everywhere else. */
function gatewayOf(region: string): string {
  return `wuyingai.${region.startsWith('cn-') ? 'cn-shanghai' : DEFAULT_REGION}.aliyuncs.com`;
}

function toUrl(endpoint: string, options: ServiceOptions): string {
  const url = /^https?:\/\//.test(endpoint) ? endpoint : `https://${endpoint}`;
  if (!URL.canParse(url))
    throw options.invalid('endpoint', endpoint, `Give a host, such as ${gatewayOf(DEFAULT_REGION)}.`);
  return url.replace(/\/+$/, '');
}
