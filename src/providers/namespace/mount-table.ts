/** The table of everything that is mounted into a sandbox, in order. Pure: text from facts. */
import { SubletError } from '../../core/errors.ts';
import type { Mount } from '../../core/spec.ts';
import type { Image } from './image.ts';
import { CHANNEL_DIR, DISK_DIRS, WORKDIR } from './layout.ts';
import { DEVICES } from './skeleton.ts';

export interface MountPlan {
  readonly root: string;
  readonly image: Image;
  readonly diskDir: string;
  readonly channelDir: string;
  /** A host directory for the working directory in place of the disk's own. */
  readonly volumeDir: string | undefined;
  readonly mounts: readonly Mount[];
  /** Keeps the disk in memory, at most this large. */
  readonly diskBytes: number | undefined;
  /** Who owns a disk in memory, as the outer user namespace counts ids. */
  readonly diskUid: number;
  readonly resolvConf: string | undefined;
  /** Flags the host has set on the file system that holds a path, which a user namespace may not clear. */
  lockedFlags(path: string): readonly string[];
}

export function mountTable(plan: MountPlan): string {
  const { root } = plan;
  const lines: string[] = [];
  const add = (source: string, target: string, type: string, options: readonly string[]): void => {
    lines.push(`${escapeField(source)} ${escapeField(root + target)} ${type} ${[...new Set(options)].join(',')} 0 0`);
  };
  const bind = (source: string, target: string, options: readonly string[]): void =>
    add(source, target, 'none', ['rbind', 'nosuid', 'nodev', ...options, ...plan.lockedFlags(source)]);

  bind(root, '', ['ro']);
  for (const entry of plan.image.entries) if (entry.kind === 'bind') bind(entry.source, `/${entry.name}`, ['ro']);
  add('proc', '/proc', 'proc', ['nosuid', 'nodev', 'noexec']);
  for (const name of DEVICES)
    add(`/dev/${name}`, `/dev/${name}`, 'none', ['bind', 'nosuid', 'noexec', ...plan.lockedFlags('/dev')]);
  add('devpts', '/dev/pts', 'devpts', ['newinstance', 'ptmxmode=0666', 'mode=620', 'nosuid', 'noexec']);
  add('shm', '/dev/shm', 'tmpfs', ['nosuid', 'nodev', 'mode=1777', 'size=256m']);
  bind(plan.channelDir, `${CHANNEL_DIR}/channel`, ['ro', 'noexec']);
  if (plan.diskBytes === undefined) for (const dir of DISK_DIRS) bind(`${plan.diskDir}/${dir.name}`, dir.target, []);
  else addMemoryDisk(add, plan.diskBytes, plan.diskUid);
  if (plan.volumeDir !== undefined) bind(plan.volumeDir, WORKDIR, []);
  if (plan.resolvConf !== undefined && plan.image.isHost) bind(plan.resolvConf, '/etc/resolv.conf', ['ro']);
  for (const mount of plan.mounts) bind(mount.source, mount.target, mount.readOnly === false ? [] : ['ro']);
  return `${lines.join('\n')}\n`;
}

/** Shares of one limit: three quarters for the work, an eighth each for the home and what programs scribble in /tmp. */
function addMemoryDisk(
  add: (source: string, target: string, type: string, options: readonly string[]) => void,
  bytes: number,
  owner: number,
): void {
  for (const { name, target, mode } of DISK_DIRS) {
    const size = Math.floor(bytes * (target === WORKDIR ? 0.75 : 0.125));
    const options = [`mode=${mode.toString(8)}`, `size=${size}`, `uid=${owner}`, `gid=${owner}`];
    add(name, target, 'tmpfs', ['nosuid', 'nodev', ...options]);
  }
}

// The table's own rule: white space and backslash as octal.
function escapeField(text: string): string {
  if (/[\n\0]/u.test(text))
    throw new SubletError('CONFIG_INVALID', 'A mounted path contains a line break.', { hint: 'Rename it.' });
  return text.replace(/[\\ \t#]/gu, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

const LOCKABLE = new Set(['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime', 'ro']);

/** Reads /proc/self/mountinfo once and answers which locked flags hold at a path. */
export function lockedFlagsFrom(mountInfo: string): (path: string) => readonly string[] {
  const mounts = mountInfo
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '))
    .map((fields) => ({
      point: unescapeOctal(fields[4] ?? '/'),
      flags: (fields[5] ?? '').split(',').filter((flag) => LOCKABLE.has(flag)),
    }));
  return (path) => {
    let best = { point: '', flags: [] as readonly string[] };
    for (const mount of mounts) {
      const isAbove = path === mount.point || mount.point === '/' || path.startsWith(`${mount.point}/`);
      // Later entries cover earlier ones at the same point.
      if (isAbove && mount.point.length >= best.point.length) best = mount;
    }
    return best.flags;
  };
}

function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/gu, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
