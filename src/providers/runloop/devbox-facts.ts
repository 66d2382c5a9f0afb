/** What is asked of Runloop for a sandbox, and what its answers say. Pure. */
import type { NetworkFact } from '../../core/network.ts';
import type { Labels } from '../../core/spec.ts';
import type { ProviderState, SandboxSpec } from '../../provider/provider.ts';
import type { Devbox, NewDevbox } from './runloop-api.ts';
import type { RunloopConfig } from './runloop-config.ts';

/** The metadata that carries a devbox's name and marks it as ours. */
export const NAME = 'sublet.name';
/** For a sandbox that policy does not limit: Runloop ends what nobody uses. The manager moves it on. */
const DEFAULT_IDLE_MS = 60 * 60_000;

export function toDevbox(spec: SandboxSpec, config: RunloopConfig): NewDevbox {
  const image = spec.image ?? config.image;
  return {
    name: spec.name,
    metadata: { ...spec.labels, [NAME]: spec.name },
    ...source(image),
    launch_parameters: {
      after_idle: {
        idle_time_seconds: Math.ceil((spec.deadManMs ?? DEFAULT_IDLE_MS) / 1000),
        // What nobody comes back to ends; what a session has keeps its disk.
        on_idle: spec.ephemeral ? 'shutdown' : 'suspend',
      },
      ...(config.size === undefined ? {} : { resource_size_request: config.size }),
      ...(spec.network === 'none' && config.noNetworkPolicy !== undefined
        ? { network_policy_id: config.noNetworkPolicy }
        : {}),
    },
  };
}

/** Ids say what they are; anything else is a blueprint's name. */
function source(image: string | undefined): Pick<NewDevbox, 'snapshot_id' | 'blueprint_id' | 'blueprint_name'> {
  if (image === undefined) return {};
  if (image.startsWith('snp_')) return { snapshot_id: image };
  return image.startsWith('bpt_') ? { blueprint_id: image } : { blueprint_name: image };
}

/** It is gone, and only its record is kept. */
export function isOver({ status }: Devbox): boolean {
  return status === 'shutdown' || status === 'failure';
}

/** A suspended devbox keeps its disk and loses its processes. */
export function stateOf({ status }: Devbox): ProviderState {
  if (status === 'running') return 'running';
  return status === 'suspended' ? 'stopped' : 'unknown';
}

/** Policies of the account that we were not told of may allow anything. */
export function networkOf(
  { launch_parameters: { network_policy_id: policy } }: Devbox,
  config: RunloopConfig,
): NetworkFact {
  if (policy === undefined || policy === null) return 'open';
  return policy === config.noNetworkPolicy ? 'none' : 'unknown';
}

export function labelsOf({ metadata }: Devbox): Labels {
  const labels = { ...metadata };
  delete labels[NAME];
  return labels;
}

/** How long it may be idle before Runloop acts. */
export function idleMsOf({ launch_parameters: { after_idle: afterIdle } }: Devbox): number | undefined {
  return afterIdle === undefined || afterIdle === null ? undefined : afterIdle.idle_time_seconds * 1000;
}
