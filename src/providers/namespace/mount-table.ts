/** The table of everything that is mounted into a sandbox, in order. Pure: text from facts. */
import { SubletError } from '../../core/errors.ts';
import type { Mount } from '../../core/spec.ts';
import type { HostMounts } from './host-mounts.ts';
import type { Image } from './image.ts';
import { CHANNEL_DIR, DISK_DIRS, WORKDIR } from './layout.ts';
import { DEVICES } from './skeleton.ts';

export interface MountFacts {
  /** The prepared root, and where it is mounted with all the rest. */
  readonly root: string;
  readonly target: string;
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
  /** What the sandbox may use of memory, which its shared memory must not exceed. */
  readonly memoryBytes: number | undefined;
  readonly resolvConf: string | undefined;
  readonly host: HostMounts;
}

const SHM_BYTES = 256 * 1024 * 1024;

export function mountTable(facts: MountFacts): string {
  const { root } = facts;
  const lines: string[] = [];
  const add = (source: string, target: string, type: string, options: readonly string[]): void => {
    lines.push(
      `${escapeField(source)} ${escapeField(facts.target + target)} ${type} ${[...new Set(options)].join(',')} 0 0`,
    );
  };
  const bind = (source: string, target: string, options: readonly string[]): void =>
    // Private: what the host mounts below a source later on, writable perhaps, stays outside.
    add(source, target, 'none', [
      'rbind',
      'rprivate',
      'nosuid',
      'nodev',
      ...options,
      ...facts.host.lockedFlags(source),
    ]);
  // The flags of a bind hold for its top only: what is mounted below is covered by a read-only view of itself.
  const bindReadOnly = (source: string, target: string): void => {
    for (const path of [source, ...facts.host.mountsBelow(source)])
      bind(path, target + path.slice(source.length), ['ro']);
  };

  bind(root, '', ['ro']);
  for (const entry of facts.image.entries) if (entry.kind === 'bind') bindReadOnly(entry.source, `/${entry.name}`);
  add('proc', '/proc', 'proc', ['nosuid', 'nodev', 'noexec']);
  // An ordinary user's sandbox has the id that owns its IPC namespace, and with it the settings there.
  add(`${facts.target}/proc/sys`, '/proc/sys', 'none', ['bind', 'ro', 'nosuid', 'nodev', 'noexec']);
  const device = ['bind', 'nosuid', 'noexec', ...facts.host.lockedFlags('/dev')];
  for (const name of DEVICES) add(`/dev/${name}`, `/dev/${name}`, 'none', device);
  add('devpts', '/dev/pts', 'devpts', ['newinstance', 'ptmxmode=0666', 'mode=620', 'nosuid', 'noexec']);
  add('shm', '/dev/shm', 'tmpfs', [
    'nosuid',
    'nodev',
    'mode=1777',
    `size=${Math.min(SHM_BYTES, Math.ceil((facts.memoryBytes ?? Infinity) / 2))}`,
  ]);
  bind(facts.channelDir, `${CHANNEL_DIR}/channel`, ['ro', 'noexec']);
  if (facts.diskBytes === undefined) for (const dir of DISK_DIRS) bind(`${facts.diskDir}/${dir.name}`, dir.target, []);
  else addMemoryDisk(add, facts.diskBytes, facts.diskUid);
  if (facts.volumeDir !== undefined) bind(facts.volumeDir, WORKDIR, []);
  if (facts.resolvConf !== undefined && facts.image.isHost) bind(facts.resolvConf, '/etc/resolv.conf', ['ro']);
  for (const { source, target, readOnly } of facts.mounts) {
    if (readOnly === false) bind(source, target, []);
    else bindReadOnly(source, target);
  }
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
