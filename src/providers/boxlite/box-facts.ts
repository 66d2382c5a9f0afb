/** What is asked of BoxLite for a sandbox, and what its answers say. Pure. */
import type { NetworkFact } from '../../core/network.ts';
import type { ListedSandbox, ProviderState, SandboxSpec } from '../../provider/provider.ts';
import type { BoxliteConfig } from './boxlite-config.ts';
import { fromBoxName } from './boxlite-name.ts';
import type { Runtime } from './boxlite-runtime.ts';

/** A box as BoxLite describes it, here or at a server. */
export interface Box {
  readonly id: string;
  /** With the labels in it, where it is ours. */
  readonly name: string | undefined;
  readonly status: string;
  readonly createdAt: number | undefined;
  /** Seconds without use until it is stopped. 0: never. */
  readonly autoStop: number;
  /** A server does not say. */
  readonly outbound: 'enabled' | 'disabled' | undefined;
  readonly ports: readonly { readonly guestPort: number; readonly hostIp: string; readonly hostPort: number }[];
}

export type NewBox = Parameters<Runtime['create']>[0];

/** For a sandbox that policy does not limit: a server stops what nobody uses. The manager moves it on. */
const DEFAULT_IDLE_MS = 60 * 60_000;
/** Nobody comes back to an ephemeral box: it goes when it has been stopped for a while. */
const EPHEMERAL_SECONDS = 60;
/** One that was made and never started has what one that was stopped has. */
const STATES: Readonly<Record<string, ProviderState>> = {
  running: 'running',
  configured: 'stopped',
  stopped: 'stopped',
};

/** `hostPorts` are those of this machine, in the order of the ports that the profile names. */
export function toBox(spec: SandboxSpec, config: BoxliteConfig, hostPorts: readonly number[] = []): NewBox {
  const { rootfs, cpus, memoryMiB, diskGiB, ports } = config;
  const isRooted = spec.image === undefined && rootfs !== undefined;
  return {
    ...(isRooted ? { rootfsPath: rootfs } : { image: spec.image ?? config.image }),
    ...(cpus === undefined ? {} : { cpus }),
    ...(memoryMiB === undefined ? {} : { memoryMib: memoryMiB }),
    ...(diskGiB === undefined ? {} : { diskSizeGb: diskGiB }),
    network: { outbound: { mode: spec.network === 'none' ? 'disabled' : 'enabled' } },
    ...(config.place.kind === 'server' ? atServer(spec) : onMachine(spec, config)),
    ...(hostPorts.length === 0
      ? {}
      : { ports: ports.map((guestPort, at) => ({ guestPort, hostPort: hostPorts[at] ?? 0, hostIp: '127.0.0.1' })) }),
  };
}

function atServer(spec: SandboxSpec): NewBox {
  const autoStop = Math.ceil((spec.deadManMs ?? DEFAULT_IDLE_MS) / 1000);
  return {
    // What is removed by itself cannot be detached.
    detach: !spec.ephemeral,
    autoStop,
    // It may not be the shorter of the two.
    autoDelete: spec.ephemeral ? autoStop + EPHEMERAL_SECONDS : 0,
    // Only whoever starts it wakes it.
    autoResume: false,
  };
}

/** What need not outlive this process ends with it. */
function onMachine(spec: SandboxSpec, config: BoxliteConfig): NewBox {
  const autoRemove = config.autoRemove || spec.ephemeral;
  return { detach: !autoRemove, autoRemove };
}

/** undefined: it is not ours. */
export function readBox({ id, name: full, status, createdAt }: Box): ListedSandbox | undefined {
  const identity = fromBoxName(full);
  if (identity === undefined) return undefined;
  const { name, labels } = identity;
  return { ref: { name, providerId: id }, labels, state: STATES[status] ?? 'unknown', createdAt };
}

/** It cannot change, so what the name says is as it was made. */
export function networkOf({ name, outbound }: Box): NetworkFact {
  if (outbound !== undefined) return outbound === 'disabled' ? 'none' : 'open';
  return fromBoxName(name)?.network ?? 'unknown';
}

export function idleMsOf({ autoStop }: Box): number | undefined {
  return autoStop > 0 ? autoStop * 1000 : undefined;
}
