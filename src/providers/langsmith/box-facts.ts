/** What is asked of LangSmith for a sandbox, and what its answers say. Pure. */
import type { NetworkFact } from '../../core/network.ts';
import type { Labels } from '../../core/spec.ts';
import type { ProviderState, SandboxSpec } from '../../provider/provider.ts';
import type { Box, NewBox } from './langsmith-api.ts';
import type { LangsmithConfig } from './langsmith-config.ts';

/**
 * The label that marks a sandbox as ours, with its name as the value: labels are inherited from snapshots, names are not, so a
 * sandbox that somebody made from a snapshot of ours is not taken for one of ours.
 */
const NAME = 'sublet.name';
/** All that may be reached when nothing may: a name that cannot be anybody's. An empty list is no list. */
const NOBODY = 'sublet.invalid';
/** For a sandbox that policy does not limit: LangSmith stops what nobody uses. The manager moves it on. */
const DEFAULT_IDLE_MS = 60 * 60_000;
/** Nobody comes back to an ephemeral sandbox: it goes as soon as it has stopped. */
export const EPHEMERAL_SECONDS = 60;
const GIB = 1024 ** 3;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function toBox(spec: SandboxSpec, config: LangsmithConfig): NewBox {
  const { vcpus, memoryGiB, diskGiB, deleteAfterStopMinutes: minutes } = config;
  return {
    name: spec.name,
    labels: { ...spec.labels, [NAME]: spec.name },
    ...source(spec.image ?? config.snapshot),
    idle_ttl_seconds: idleSeconds(spec.deadManMs ?? DEFAULT_IDLE_MS),
    ...(spec.ephemeral
      ? { delete_after_stop_seconds: EPHEMERAL_SECONDS }
      : minutes === undefined
        ? {}
        : { delete_after_stop_seconds: minutes * 60 }),
    ...(config.keepMemory ? { preserve_memory_on_stop: true } : {}),
    ...(spec.network === 'none' ? { proxy_config: { access_control: { allow_list: [NOBODY] } } } : {}),
    ...(vcpus === undefined ? {} : { cpu_millicores: Math.round(vcpus * 1000) }),
    ...(memoryGiB === undefined ? {} : { mem_bytes: Math.round(memoryGiB * GIB) }),
    ...(diskGiB === undefined ? {} : { fs_capacity_bytes: Math.round(diskGiB * GIB) }),
  };
}

/** LangSmith counts in minutes, up. */
export function idleSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 60_000)) * 60;
}

function source(image: string | undefined): Pick<NewBox, 'snapshot_id' | 'snapshot_name'> {
  if (image === undefined) return {};
  return UUID.test(image) ? { snapshot_id: image } : { snapshot_name: image };
}

export function isOurs({ name, labels }: Box): boolean {
  return name !== undefined && labels?.[NAME] === name;
}

/** What rests has lost its processes, unless it was made to keep its memory. */
export function stateOf({ status, preserve_memory_on_stop: keepsMemory }: Box): ProviderState {
  if (status === 'ready') return 'running';
  if (status !== 'stopped') return 'unknown';
  return keepsMemory === true ? 'paused' : 'stopped';
}

export function isResting(box: Box): boolean {
  return ['paused', 'stopped'].includes(stateOf(box));
}

/** An answer that leaves it out says nothing. A list that is not ours may allow anything. */
export function networkOf({ proxy_config: proxy }: Box): NetworkFact {
  if (proxy === undefined || proxy === null) return 'unknown';
  const allowed = proxy.access_control?.allow_list ?? [];
  if (allowed.length === 0) return 'open';
  return allowed.every((each) => each === NOBODY) ? 'none' : 'unknown';
}

export function labelsOf(box: Box): Labels {
  const labels = { ...box.labels };
  delete labels[NAME];
  return labels;
}

/** How long it may be idle before LangSmith stops it. */
export function idleMsOf({ idle_ttl_seconds: seconds }: Box): number | undefined {
  return seconds === undefined || seconds === 0 ? undefined : seconds * 1000;
}

export function createdAt({ created_at: created }: Box): number | undefined {
  const at = Date.parse(created ?? '');
  return Number.isNaN(at) ? undefined : at;
}
