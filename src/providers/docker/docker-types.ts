/** What the engine is sent and answers, as far as Sublet uses it. The names are the engine's. */

export interface ContainerBody {
  readonly Image: string;
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly User?: string;
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly OpenStdin: boolean;
  readonly StdinOnce: boolean;
  readonly AttachStdin?: boolean;
  readonly AttachStdout?: boolean;
  readonly AttachStderr?: boolean;
  readonly HostConfig: HostConfig;
}

export interface HostConfig {
  readonly NetworkMode: string;
  readonly AutoRemove: boolean;
  readonly Mounts: readonly MountBody[];
  readonly Tmpfs?: Readonly<Record<string, string>>;
  readonly Memory?: number;
  readonly MemorySwap?: number;
  readonly NanoCpus?: number;
  readonly PidsLimit?: number;
  readonly StorageOpt?: Readonly<Record<string, string>>;
  readonly ReadonlyRootfs: boolean;
  readonly CapDrop: readonly string[];
  readonly CapAdd: readonly string[];
  readonly SecurityOpt: readonly string[];
  readonly Runtime?: string;
  readonly PortBindings?: Readonly<Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[]>>;
  readonly LogConfig: { readonly Type: string };
}

export interface MountBody {
  readonly Type: 'bind' | 'volume';
  readonly Source?: string;
  readonly Target: string;
  readonly ReadOnly: boolean;
  readonly BindOptions?: { readonly Propagation: string };
  readonly VolumeOptions?: { readonly Labels: Readonly<Record<string, string>> };
}

export interface ContainerDetails {
  readonly Id: string;
  readonly Name: string;
  readonly Created: string;
  /** The image by its own id, whatever its name leads to now. */
  readonly Image: string;
  readonly Mounts?: readonly { readonly Type: string; readonly Name?: string; readonly Destination: string }[] | null;
  readonly State: { readonly Status: string; readonly Running: boolean; readonly Paused: boolean };
  /** Of commands that have not ended. */
  readonly ExecIDs?: readonly string[] | null;
  readonly Config: {
    readonly User: string;
    readonly WorkingDir: string;
    readonly Image: string;
    readonly Labels: Readonly<Record<string, string>> | null;
  };
  readonly HostConfig: {
    readonly NetworkMode: string;
    readonly AutoRemove: boolean;
    readonly ReadonlyRootfs: boolean;
    readonly Tmpfs?: Readonly<Record<string, string>> | null;
  };
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly IPAddress?: string; readonly NetworkID?: string }>> | null;
    readonly Ports?: Readonly<Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[] | null>>;
  };
}

/** A path of a container's own layer. Kind: 0 changed, 1 added, 2 removed. */
export interface PathChange {
  readonly Path: string;
  readonly Kind: number;
}

export interface ContainerProcesses {
  readonly Titles: readonly string[];
  readonly Processes: readonly (readonly string[])[] | null;
}

export interface ImageDetails {
  readonly Config?: { readonly User?: string } | null;
}

export interface ListedContainer {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
  readonly State: string;
  /** Epoch seconds. */
  readonly Created: number;
}

export interface ExecBody {
  readonly Cmd: readonly string[];
  readonly AttachStdin: boolean;
  readonly AttachStdout: boolean;
  readonly AttachStderr: boolean;
  readonly Tty?: boolean;
  readonly Env?: readonly string[];
  readonly WorkingDir?: string;
  readonly User?: string;
}

export interface ExecDetails {
  readonly Running: boolean;
  readonly ExitCode: number | null;
  /** On the engine's machine. */
  readonly Pid: number;
}

export interface ContainerStats {
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: {
    readonly usage?: number;
    readonly limit?: number;
    readonly stats?: Readonly<Record<string, number>>;
  };
  readonly pids_stats?: { readonly current?: number; readonly limit?: number };
}

export interface EngineInfo {
  readonly ServerVersion: string;
  readonly OperatingSystem: string;
  readonly Driver: string;
  readonly DriverStatus: readonly (readonly [string, string])[] | null;
  readonly CgroupVersion?: string;
  readonly MemoryLimit: boolean;
  readonly PidsLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly Runtimes?: Readonly<Record<string, object>>;
  readonly SecurityOptions?: readonly string[] | null;
  readonly Plugins?: { readonly Network?: readonly string[] | null };
}
