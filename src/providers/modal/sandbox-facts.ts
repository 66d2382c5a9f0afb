/** What is asked of Modal for a sandbox, and what its tags say. Pure. */
import type { NetworkFact } from '../../core/network.ts';
import type { Labels } from '../../core/spec.ts';
import type { ProviderState, SandboxSpec } from '../../provider/provider.ts';
import type { KnownSandbox, NewSandbox, Tags } from './modal-api.ts';
import type { ModalConfig } from './modal-config.ts';

/** Our own tags, beside the labels. The service tells nothing else of a sandbox that has ended. */
const TAG = {
  /** Marks it as ours. */
  name: 'sublet.name',
  network: 'sublet.network',
  /** When its life is over, in seconds of the epoch. */
  ends: 'sublet.ends',
  /** Seconds after which Modal ends it when it is idle. */
  idle: 'sublet.idle',
  /** `stopped` once its disk is kept, `ending` once it is to be destroyed. */
  state: 'sublet.state',
  /** The image that has its disk, and when that expires. */
  disk: 'sublet.disk',
  /** The image of its disk that it was started from. */
  origin: 'sublet.origin',
} as const;

const STOPPED = 'stopped';
const ENDING = 'ending';
/** What every sandbox that was stopped has, also when it was started again since. */
export const STOPPED_TAG = { [TAG.state]: STOPPED };

/** How a sandbox has ended. Anything else than these is an end of its own: its time was over, or its machine failed. */
const RUNNING = 0;
const SUCCEEDED = 1;
const FAILED = 2;
const TERMINATED = 3;

const NETWORK_OPEN = 1;
const NETWORK_BLOCKED = 2;

export interface Disk {
  readonly imageId: string;
  readonly expiresAt: number;
}

export function toSandbox(spec: SandboxSpec, config: ModalConfig, imageId: string, now: number): NewSandbox {
  const idleSecs = config.idleSecs ?? idleOf(spec);
  const tags = {
    ...spec.labels,
    [TAG.name]: spec.name,
    [TAG.network]: spec.network,
    [TAG.ends]: String(Math.floor(now / 1000) + config.lifetimeSecs),
    ...(idleSecs === undefined ? {} : { [TAG.idle]: String(idleSecs) }),
  };
  return build(spec.name, tags, imageId, config);
}

/** The one that goes on where a stopped one was. */
export function toSuccessor(stopped: KnownSandbox, config: ModalConfig, imageId: string, now: number): NewSandbox {
  const tags: Record<string, string> = {
    ...stopped.tags,
    [TAG.ends]: String(Math.floor(now / 1000) + config.lifetimeSecs),
    [TAG.origin]: imageId,
  };
  delete tags[TAG.state];
  delete tags[TAG.disk];
  return build(tags[TAG.name] ?? '', tags, imageId, config);
}

function build(name: string, tags: Tags, imageId: string, config: ModalConfig): NewSandbox {
  const isClosed = tags[TAG.network] !== 'open';
  const { region, cpu, memoryMb } = config;
  return {
    tags,
    definition: {
      name,
      imageId,
      timeoutSecs: config.lifetimeSecs,
      ...(tags[TAG.idle] === undefined ? {} : { idleTimeoutSecs: Number(tags[TAG.idle]) }),
      networkAccess: { networkAccessType: isClosed ? NETWORK_BLOCKED : NETWORK_OPEN },
      // What has no network has no way in either.
      openPorts: { ports: isClosed ? [] : config.ports.map((port) => ({ port, unencrypted: false })) },
      resources: {
        ...(cpu === undefined ? {} : { milliCpu: Math.trunc(cpu * 1000) }),
        ...(memoryMb === undefined ? {} : { memoryMb }),
      },
      ...(region === undefined ? {} : { schedulerPlacement: { regions: [region] } }),
    },
  };
}

/** Nobody comes back to an ephemeral one. A session's is left its whole life: what Modal ends by itself loses its disk. */
function idleOf({ ephemeral, deadManMs }: SandboxSpec): number | undefined {
  return ephemeral && deadManMs !== undefined ? Math.ceil(deadManMs / 1000) : undefined;
}

/** undefined when it is not ours. */
export function nameOf({ tags }: KnownSandbox): string | undefined {
  return tags[TAG.name];
}

export function isOver({ status }: KnownSandbox): boolean {
  return status !== RUNNING;
}

/**
 * The disk that a sandbox left when it was stopped. None when it ended by itself: then a disk it may have is that of a stop
 * which was not finished, and older than what was lost.
 */
export function diskLeftBy(sandbox: KnownSandbox): Disk | undefined {
  const wasEnded = [SUCCEEDED, FAILED, TERMINATED].includes(sandbox.status);
  return wasEnded && sandbox.tags[TAG.state] === STOPPED ? diskOf(sandbox.tags) : undefined;
}

function diskOf(tags: Tags): Disk | undefined {
  const [, imageId, seconds] = /^(im-[^.]+)\.(\d+)$/.exec(tags[TAG.disk] ?? '') ?? [];
  return imageId === undefined ? undefined : { imageId, expiresAt: Number(seconds) * 1000 };
}

export function stoppedTags(tags: Tags, { imageId, expiresAt }: Disk): Tags {
  return { ...tags, [TAG.state]: STOPPED, [TAG.disk]: `${imageId}.${Math.floor(expiresAt / 1000)}` };
}

export function endingTags(tags: Tags): Tags {
  return { ...tags, [TAG.state]: ENDING };
}

/** The images that are kept for this sandbox alone. */
export function imagesOf({ tags }: KnownSandbox): readonly string[] {
  return [tags[TAG.origin], diskOf(tags)?.imageId].filter((id) => id !== undefined);
}

/** What is to be destroyed is not used any more. */
export function stateOf(sandbox: KnownSandbox): ProviderState {
  if (isOver(sandbox)) return diskLeftBy(sandbox) === undefined ? 'unknown' : 'stopped';
  return sandbox.tags[TAG.state] === ENDING ? 'unknown' : 'running';
}

export function networkOf({ tags }: KnownSandbox): NetworkFact {
  const network = tags[TAG.network];
  return network === 'open' || network === 'none' ? network : 'unknown';
}

export function labelsOf({ tags }: KnownSandbox): Labels {
  const own: readonly string[] = Object.values(TAG);
  return Object.fromEntries(Object.entries(tags).filter(([name]) => !own.includes(name)));
}

/** When Modal ends it: its life is over, it was idle since `usedAt` for too long, or its disk has been kept long enough. */
export function endsAt(sandbox: KnownSandbox, usedAt: number | undefined): number | undefined {
  const disk = diskLeftBy(sandbox);
  if (disk !== undefined) return disk.expiresAt;
  const life = Number(sandbox.tags[TAG.ends]) * 1000;
  const idle = (usedAt ?? Number.NaN) + Number(sandbox.tags[TAG.idle]) * 1000;
  const earliest = Math.min(...[life, idle].filter((at) => !Number.isNaN(at)));
  return Number.isFinite(earliest) ? earliest : undefined;
}
