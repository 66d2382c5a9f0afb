/** Where a sandbox's parts lie on the host and inside. Pure. Paths are put together as they are: Node's `join` looks at every letter. */
/** Inside the sandbox. */
export const WORKDIR = '/workspace';
export const HOME = '/home/sandbox';
export const CHANNEL_DIR = '/run/sublet';
export const INNER_UID = 1000;

/**
 * What is mounted over the host's root, as the set-up names it: a path from `/` still begins below it, and `/..` is the
 * one that the kernel leads on top.
 */
export const OVER_ROOT = '/..';

/**
 * On a root-run manager the sandbox's user is this unprivileged host id: above every range that distributions,
 * systemd or subuid files hand out, so that it owns nothing on the host but sandboxes' disks.
 */
export const HOST_UID = 1_879_049_192;

export interface SandboxPaths {
  readonly dir: string;
  readonly record: string;
  /** What `stop` keeps: workspace, home, tmp. */
  readonly disk: string;
  /** Pipes between this host and the sandbox's resident shell; read-only inside. */
  readonly channel: string;
  /** Output of background commands; not visible inside. */
  readonly commands: string;
  readonly mountTable: string;
  /** What it was like before anybody used it. */
  readonly fresh: string;
  readonly lock: string;
}

export function sandboxPaths(stateDir: string, name: string): SandboxPaths {
  return pathsIn(`${stateDir}/sandboxes/${name}`);
}

export function pathsIn(dir: string): SandboxPaths {
  return {
    dir,
    record: `${dir}/sandbox.json`,
    disk: `${dir}/disk`,
    channel: `${dir}/channel`,
    commands: `${dir}/commands`,
    mountTable: `${dir}/mounts`,
    fresh: `${dir}/fresh.json`,
    lock: lockPath(dir),
  };
}

/** One move at a time is made by whoever holds it. */
export function lockPath(dir: string): string {
  return `${dir}/lock`;
}

/** Directories of the disk and where they appear inside. */
export const DISK_DIRS: readonly { readonly name: string; readonly target: string; readonly mode: number }[] = [
  { name: 'workspace', target: WORKDIR, mode: 0o755 },
  { name: 'home', target: HOME, mode: 0o755 },
  { name: 'tmp', target: '/tmp', mode: 0o1777 },
];

/** The name of a thing while it is being made: `<what it will be>.<who makes it><unique>.new`. */
export function draftName(path: string, mark: string, unique: string): string {
  return `${path}.${mark}${unique}.new`;
}

/** Tells drafts and control groups of one process apart. No secret: what makes those takes Node long to load. */
export function uniqueName(): string {
  return Math.random().toString(36).slice(2);
}

/** Who makes it and what tells it from others, when the name is that of a draft. */
export function draftOf(name: string): string | undefined {
  return /^[^.]+\.(.+)\.new$/.exec(name)?.[1];
}
