/** Which directories of this machine a container may be shown. */
import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { SubletError } from '../../core/errors.ts';
import type { Mount } from '../../core/spec.ts';
import type { EngineEndpoint } from './engine-endpoint.ts';

/** Whoever has one of these has the machine. A directory that holds one is refused with it. */
const MACHINE_SOCKETS = [
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/containerd/containerd.sock',
  '/run/podman/podman.sock',
];
/** The kernel's own, and what the container has of its own. */
const KERNEL_DIRS = ['/proc', '/sys', '/dev'];

/**
 * The mounts with their links resolved, so that the directory that was checked is the one that is mounted.
 * CONFIG_INVALID for one that cannot be, with the reason.
 */
export function checkMounts(mounts: readonly Mount[], endpoint: EngineEndpoint): Promise<readonly Mount[]> {
  return Promise.all(mounts.map((mount) => checkMount(mount, endpoint)));
}

async function checkMount(mount: Mount, endpoint: EngineEndpoint): Promise<Mount> {
  checkTarget(mount.target);
  if (endpoint.kind !== 'unix') {
    throw refused(
      mount,
      'the engine is on another machine, which does not have it',
      'Copy the files into the sandbox.',
    );
  }
  const source = await realpath(mount.source).catch((cause: unknown) => {
    throw refused(mount, 'it does not exist', 'Make the directory first, or correct the path.', cause);
  });
  if (source === '/') throw refused(mount, 'it is the whole machine', 'Mount the directory that is needed.');
  const sockets = [...MACHINE_SOCKETS, endpoint.path, await realpath(endpoint.path).catch(() => endpoint.path)];
  if (sockets.some((socket) => isWithin(socket, source))) {
    throw refused(
      mount,
      "it holds an engine's socket, which is as good as root on this machine",
      'Mount another directory.',
    );
  }
  if (KERNEL_DIRS.some((dir) => isWithin(source, dir))) {
    throw refused(mount, "it is the kernel's view of this machine", 'Mount a directory with files.');
  }
  return { ...mount, source };
}

function checkTarget(target: string): void {
  const path = posix.normalize(target);
  if (!path.startsWith('/') || path === '/' || KERNEL_DIRS.some((dir) => isWithin(path, dir))) {
    throw new SubletError('CONFIG_INVALID', `A mount cannot be at ${target} in the container.`, {
      hint: 'Choose an absolute path below /, such as /mnt/data.',
    });
  }
}

function isWithin(path: string, dir: string): boolean {
  return path === dir || path.startsWith(`${dir}/`);
}

function refused(mount: Mount, reason: string, hint: string, cause?: unknown): SubletError {
  return new SubletError('CONFIG_INVALID', `${mount.source} cannot be mounted: ${reason}.`, {
    cause,
    details: { source: mount.source, target: mount.target },
    hint,
  });
}
