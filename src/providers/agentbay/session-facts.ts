/** What is asked of AgentBay for a sandbox, and what its answers say. Pure. */
import type { NetworkFact } from '../../core/network.ts';
import type { Labels } from '../../core/spec.ts';
import type { ListedSandbox, ProviderState, SandboxSpec } from '../../provider/provider.ts';
import type { AgentBayConfig } from './agentbay-config.ts';
import type { Fields } from './agentbay-wire.ts';

/** A session as the service knows it: the labels are the only place for what it does not. */
export interface BaySession {
  readonly id: string;
  readonly status: string;
  readonly labels: Labels;
  /** undefined where the answer does not say. */
  readonly policyId: string | undefined;
}

/** The label that carries a session's name and marks it as ours. */
export const NAME = 'sublet.name';
const CREATED_AT = 'sublet.created-at';
const IDLE_SECONDS = 'sublet.idle-seconds';
const CONTEXT = 'sublet.context';
const CLAIMED = 'sublet.claimed';
const OWN: readonly string[] = [NAME, CREATED_AT, IDLE_SECONDS, CONTEXT, CLAIMED];
/** For a sandbox that policy does not limit: AgentBay releases what nobody uses. The manager moves it on. */
const DEFAULT_IDLE_MS = 60 * 60_000;
const STATES: Readonly<Record<string, ProviderState>> = { RUNNING: 'running', PAUSED: 'paused' };
const OVER: readonly string[] = ['DELETED', 'FINISH'];
/** Both ways by itself, and a file that is removed here is removed there. */
const SYNC_POLICY = {
  uploadPolicy: { autoUpload: true, uploadStrategy: 'UploadBeforeResourceRelease', uploadMode: 'File' },
  downloadPolicy: { autoDownload: true, downloadStrategy: 'DownloadAsync' },
  deletePolicy: { syncLocalFile: true },
} as const;

/** `contextId` is the service's own id of the context. */
export function toSession(
  spec: SandboxSpec,
  config: AgentBayConfig,
  { contextId, now }: { readonly contextId: string | undefined; readonly now: number },
): Fields {
  const idleSeconds = Math.ceil((spec.deadManMs ?? DEFAULT_IDLE_MS) / 1000);
  const labels = {
    ...spec.labels,
    [NAME]: spec.name,
    [CREATED_AT]: String(now),
    [IDLE_SECONDS]: String(idleSeconds),
    ...(contextId === undefined ? {} : { [CONTEXT]: contextId }),
  };
  const context = { ContextId: contextId, Path: config.cwd, Policy: JSON.stringify(SYNC_POLICY) };
  return {
    ImageId: spec.image ?? config.imageId,
    LoginRegionId: config.region,
    Labels: JSON.stringify(labels),
    Timeout: idleSeconds,
    McpPolicyId: spec.network === 'none' ? config.noNetworkPolicy : config.policy,
    PersistenceDataList: contextId === undefined ? undefined : JSON.stringify([context]),
  };
}

/** undefined: it is not ours, or only its record is left. */
export function readSession({ id, status, labels }: BaySession): ListedSandbox | undefined {
  const name = labels[NAME];
  if (name === undefined || OVER.includes(status)) return undefined;
  const asked = Object.fromEntries(Object.entries(labels).filter(([key]) => !OWN.includes(key)));
  const createdAt = Number(labels[CREATED_AT]) || undefined;
  return { ref: { name, providerId: id }, labels: asked, state: STATES[status] ?? 'unknown', createdAt };
}

export function isOver({ status }: BaySession): boolean {
  return OVER.includes(status);
}

/** Policies of the account that we were not told of may allow anything. */
export function networkOf({ policyId }: BaySession, config: AgentBayConfig): NetworkFact {
  if (policyId !== undefined && policyId === config.noNetworkPolicy) return 'none';
  return policyId === undefined || policyId === config.policy ? 'open' : 'unknown';
}

/** How long it may be idle before AgentBay releases it. */
export function idleMsOf({ labels }: BaySession): number | undefined {
  const seconds = Number(labels[IDLE_SECONDS]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

/** The context whose files it has. */
export function contextOf({ labels }: BaySession): string | undefined {
  return labels[CONTEXT];
}

/** It is the one of its name: AgentBay does not tell which of two was there first. */
export function isClaimed({ labels }: BaySession): boolean {
  return labels[CLAIMED] !== undefined;
}

export function claimed({ labels }: BaySession): Labels {
  return { ...labels, [CLAIMED]: 'yes' };
}
