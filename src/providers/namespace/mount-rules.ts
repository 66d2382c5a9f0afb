/** Which files and directories of this machine a sandbox may be shown, and at which places. */
import { statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import type { Mount } from '../../core/spec.ts';
import { CHANNEL_DIR, DISK_DIRS } from './layout.ts';

/** Where something is mounted, and onto what. */
export interface MountPoint {
  readonly path: string;
  readonly isFile: boolean;
}

/** The sandbox's own. Nothing can be at them or below. */
const OWN = ['/proc', '/dev', CHANNEL_DIR];
/** What it cannot be without: nothing can be in their place. */
const NEEDED = [...OWN, '/usr', '/etc'];

/**
 * The mount with its source resolved: what the host has mounted below that is found by its real path. CONFIG_INVALID for one
 * that cannot be, with the reason; `mount` would speak of a special device.
 */
export async function checkMount(mount: Mount): Promise<Mount> {
  const target = posix.resolve('/', mount.target);
  const disks = DISK_DIRS.map((dir) => dir.target);
  if (
    NEEDED.some((place) => isWithin(place, target)) ||
    OWN.some((place) => isWithin(target, place)) ||
    disks.some((place) => place !== target && isWithin(place, target))
  )
    throw refused(mount, `${target} is part of every sandbox`);
  const disk = disks.find((place) => place !== target && isWithin(target, place));
  if (disk !== undefined) throw refused(mount, `${disk} is the sandbox's own, and nothing can be mounted below it`);
  const source = await realpath(mount.source).catch((cause: unknown) => {
    throw new SubletError(
      'CONFIG_INVALID',
      `${mount.source} cannot be mounted: it is not there, or this user may not see it.`,
      { cause, hint: 'Check the path: it is one of the machine that runs the sandbox.' },
    );
  });
  if (source === '/') throw refused(mount, 'it is the whole machine', 'Mount the directory that is needed.');
  return { ...mount, source };
}

export function mountPoint({ source, target }: Mount): MountPoint {
  return { path: target, isFile: statSync(source, { throwIfNoEntry: false })?.isDirectory() === false };
}

function isWithin(path: string, dir: string): boolean {
  return path === dir || dir === '/' || path.startsWith(`${dir}/`);
}

function refused(
  { source, target }: Mount,
  reason: string,
  hint = 'Choose a place of its own, such as /mnt/data.',
): SubletError {
  return new SubletError('CONFIG_INVALID', `${source} cannot be mounted at ${target}: ${reason}.`, {
    details: { source, target },
    hint,
  });
}
