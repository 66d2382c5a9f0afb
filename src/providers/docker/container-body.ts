/** From what a sandbox is asked to be to what the engine is asked to make. Pure. */
import { createHash } from 'node:crypto';
import type { Limits, Mount } from '../../core/spec.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { type MadeOf, writeLabels } from './container-label.ts';
import { DEFAULT_IMAGES, type DockerConfig } from './docker-config.ts';
import type { ContainerBody, HostConfig, MountBody } from './docker-types.ts';
import { initCommand } from './shell-scripts.ts';

/** Writable in a container whose root is not: programs expect them. */
const SCRATCH_DIRS = ['/tmp', '/var/tmp', '/run'];
const SCRATCH_OPTIONS = 'rw,nosuid,nodev,mode=1777';
const DEFAULT_PIDS = 4096;

export interface Findings {
  /** With their links resolved. */
  readonly mounts: readonly Mount[];
  /** Whether commands run as root. */
  readonly isRoot: boolean;
}

export function containerBody(spec: SandboxSpec, config: DockerConfig, { mounts, isRoot }: Findings): ContainerBody {
  const hasShell = config.command.length === 0;
  const isOwned = spec.ephemeral && hasShell;
  const [entrypoint, ...command] = hasShell ? initCommand(isOwned) : config.command;
  const ports = spec.network === 'none' ? [] : config.ports.map((port) => `${port}/tcp`);
  const facts = { workdir: config.workdir, ephemeral: spec.ephemeral, hasShell };
  const body: MadeOf = {
    Image: imageOf(spec),
    Entrypoint: [entrypoint ?? 'sh'],
    Cmd: command,
    ...(config.user === undefined ? {} : { User: config.user }),
    WorkingDir: config.workdir,
    ...(ports.length === 0 ? {} : { ExposedPorts: Object.fromEntries(ports.map((port) => [port, {}])) }),
    OpenStdin: isOwned,
    StdinOnce: isOwned,
    AttachStdin: isOwned,
    AttachStdout: isOwned,
    AttachStderr: isOwned,
    HostConfig: {
      NetworkMode: spec.network === 'none' ? 'none' : config.network,
      AutoRemove: spec.ephemeral,
      Mounts: [...workdirMount(spec, config), ...mounts.map(bindMount)],
      ...(config.readonlyRootfs
        ? { Tmpfs: Object.fromEntries(SCRATCH_DIRS.map((dir) => [dir, SCRATCH_OPTIONS])) }
        : {}),
      ...limitFields(spec.limits ?? {}),
      ReadonlyRootfs: config.readonlyRootfs,
      CapDrop: ['ALL'],
      // Podman would give them to an ordinary user too, who has no need of them.
      CapAdd: isRoot ? config.linuxCapabilities : [],
      SecurityOpt: ['no-new-privileges'],
      ...(config.runtime === undefined ? {} : { Runtime: config.runtime }),
      ...(ports.length === 0 ? {} : { PortBindings: Object.fromEntries(ports.map((port) => [port, [LOOPBACK]])) }),
      // Commands' output goes through this process alone; the engine keeps no copy of it.
      LogConfig: { Type: 'none' },
    },
  };
  // An ephemeral one goes with its maker and is not made again.
  return { ...body, Labels: writeLabels(spec.labels, { ...facts, ...(spec.ephemeral ? {} : { made: body }) }) };
}

export function imageOf(spec: SandboxSpec): string {
  return spec.image ?? DEFAULT_IMAGES[spec.kind];
}

/** The volume that stands for a context: one name for one id, whatever characters it has. */
export function volumeName(contextId: string): string {
  return `sublet-${createHash('sha256').update(contextId).digest('hex').slice(0, 32)}`;
}

const LOOPBACK = { HostIp: '127.0.0.1', HostPort: '' };

/** A context is a named volume; a read-only root needs some volume, which goes with the container. */
function workdirMount(spec: SandboxSpec, config: DockerConfig): MountBody[] {
  const volume = { Type: 'volume', Target: config.workdir, ReadOnly: false } as const;
  if (spec.contextId !== undefined) {
    const labels = { 'sublet.context': volumeName(spec.contextId) };
    return [{ ...volume, Source: volumeName(spec.contextId), VolumeOptions: { Labels: labels } }];
  }
  return config.readonlyRootfs ? [volume] : [];
}

function bindMount({ source, target, readOnly }: Mount): MountBody {
  return {
    Type: 'bind',
    Source: source,
    Target: target,
    ReadOnly: readOnly !== false,
    BindOptions: { Propagation: 'rprivate' },
  };
}

function limitFields(limits: Limits): Partial<HostConfig> {
  const { memoryBytes, cpuMillis, pids, diskBytes } = limits;
  return {
    // Swap would be a second limit of the same size.
    ...(memoryBytes === undefined ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
    ...(cpuMillis === undefined ? {} : { NanoCpus: cpuMillis * 1_000_000 }),
    PidsLimit: pids ?? DEFAULT_PIDS,
    ...(diskBytes === undefined ? {} : { StorageOpt: { size: String(diskBytes) } }),
  };
}
