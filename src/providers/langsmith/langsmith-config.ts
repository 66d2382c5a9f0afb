/** What the provider can do, what its section of a profile may say, and what it assumes where nothing is said. */
import type { Capability } from '../../provider/capabilities.ts';
import type { ProviderContext, ProviderOptionField } from '../../provider/define-provider.ts';
import { ServiceOptions } from '../../provider/service/service-options.ts';

export const CAPABILITIES: readonly Capability[] = [
  'pause',
  'stop',
  'extend',
  'snapshot',
  'pty',
  'ports',
  'labels',
  'network-none',
  'network-open',
  'background',
  'isolation',
];

export const API_KEY = 'LANGSMITH_API_KEY';
export const SDK = { package: 'langsmith', range: '^0.10.5' } as const;
/** What the SDK needs to stream. */
export const SOCKETS = { package: 'ws', range: '^8.18.0' } as const;
const DEFAULT_ENDPOINT = 'https://api.smith.langchain.com';
const DEFAULT_CWD = '/workspace';
/** The service keeps nothing longer that was stopped. */
const MAX_DELETE_MINUTES = 30 * 24 * 60;

export const OPTIONS: Readonly<Record<string, ProviderOptionField>> = {
  apiKey: { type: 'string', description: 'The key of the workspace.', secret: API_KEY },
  endpoint: { type: 'string', description: `Where the API is; else LANGSMITH_ENDPOINT, else ${DEFAULT_ENDPOINT}.` },
  workspace: {
    type: 'string',
    description: 'Id of the workspace, for a key that has several; else LANGSMITH_WORKSPACE_ID.',
  },
  snapshot: { type: 'string', description: 'Name or id of the snapshot when no image is named; default: LangSmith’s.' },
  cwd: { type: 'string', description: 'Working directory.', default: DEFAULT_CWD },
  keepMemory: {
    type: 'boolean',
    description: 'What rests keeps its memory and processes: it can be paused, and not stopped.',
    default: false,
  },
  deleteAfterStopMinutes: {
    type: 'number',
    description: 'A session’s sandbox that was stopped for so long is deleted; default: LangSmith’s, 14 days.',
  },
  vcpus: { type: 'number', description: 'Cores, 0.05 to 16; default: LangSmith’s.' },
  memoryGiB: { type: 'number', description: 'Memory: 4 for each core, half of that more or less.' },
  diskGiB: { type: 'number', description: 'Disk, up to 64; default: the snapshot’s.' },
};

export interface LangsmithConfig {
  readonly apiKey: string;
  /** Without a path. */
  readonly endpoint: string;
  readonly workspace: string | undefined;
  readonly snapshot: string | undefined;
  readonly cwd: string;
  readonly keepMemory: boolean;
  readonly deleteAfterStopMinutes: number | undefined;
  readonly vcpus: number | undefined;
  readonly memoryGiB: number | undefined;
  readonly diskGiB: number | undefined;
}

/** CONFIG_INVALID for what cannot be, AUTH_FAILED without a key. */
export function parseLangsmithConfig(context: ProviderContext): LangsmithConfig {
  const options = new ServiceOptions('langsmith', context);
  const upTo = (name: string, most: number, least: number, isWhole: boolean): number | undefined => {
    const value = options.number(name, { least, isWhole });
    if (value === undefined || value <= most) return value;
    throw options.invalid(name, value, `LangSmith has no more than ${most}.`);
  };
  return {
    // Some name the path of the API as well.
    endpoint: options.url('endpoint', 'LANGSMITH_ENDPOINT', DEFAULT_ENDPOINT).replace(/\/api(\/v\d)?$/, ''),
    workspace: options.text('workspace', 'LANGSMITH_WORKSPACE_ID'),
    snapshot: options.text('snapshot'),
    cwd: options.directory('cwd') ?? DEFAULT_CWD,
    keepMemory: options.isTrue('keepMemory'),
    deleteAfterStopMinutes: upTo('deleteAfterStopMinutes', MAX_DELETE_MINUTES, 2, true),
    vcpus: upTo('vcpus', 16, 0.05, false),
    memoryGiB: upTo('memoryGiB', 64, 0.1, false),
    diskGiB: upTo('diskGiB', 64, 0.1, false),
    apiKey: options.key('LangSmith', API_KEY),
  };
}

/** What rests keeps its memory, or does not: a sandbox is made so. Terminals need WebSockets. */
export function capabilitiesOf({ keepMemory }: LangsmithConfig, hasSockets: boolean): ReadonlySet<Capability> {
  const without: readonly Capability[] = [keepMemory ? 'stop' : 'pause', ...(hasSockets ? [] : (['pty'] as const))];
  return new Set(CAPABILITIES.filter((capability) => !without.includes(capability)));
}
