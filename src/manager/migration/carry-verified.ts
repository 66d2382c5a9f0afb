/** A working directory from one sandbox to another, and the proof that it is there: streaming, with nothing on this machine. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxHandle } from '../../provider/provider.ts';
import { carryFiles } from '../carry-over.ts';
import { hasTar, packWorkspace, unpackWorkspace } from '../workspace-archive.ts';
import { manifestOfFiles } from './manifest-of-files.ts';
import { telling } from './while-moving.ts';
import { readManifest, whileReading, type WorkspaceManifest } from './workspace-manifest.ts';

export interface Carried {
  readonly manifest: WorkspaceManifest;
  /** What the packer said though it packed everything it could: sockets that have no meaning elsewhere. */
  readonly complaints: string;
}

/**
 * Read three times: as it is sent, at the target once it is there, and at the source once more, so that what changed meanwhile is
 * not taken for the same. FILE_FAILED when anything is not the same. Without tar on either side file by file; then UNSUPPORTED when there
 * is anything but files and directories.
 */
export async function carryVerified(
  from: SandboxHandle,
  to: SandboxHandle,
  signal: AbortSignal,
  moved: () => void,
): Promise<Carried> {
  const tars = await Promise.all([hasTar(from, signal), hasTar(to, signal)]);
  const way = tars.every(Boolean) ? BY_ARCHIVE : BY_FILE;
  const carried = await way.carry(from, to, signal, moved);
  const there = carried.manifest.difference(await way.read(to, signal, moved));
  if (there !== undefined) throw notTheSame(`is not at the target as it was sent: ${there}`, 'Try another profile.');
  const meanwhile = carried.manifest.difference(await way.read(from, signal, moved));
  if (meanwhile !== undefined) throw notTheSame(`changed while it was carried over: ${meanwhile}`, END_COMMANDS);
  return carried;
}

interface Way {
  carry(from: SandboxHandle, to: SandboxHandle, signal: AbortSignal, moved: () => void): Promise<Carried>;
  read(handle: SandboxHandle, signal: AbortSignal, moved: () => void): Promise<WorkspaceManifest>;
}

const BY_ARCHIVE: Way = {
  async carry(from, to, signal, moved) {
    let complaints = '';
    const manifest = await packWorkspace(
      from,
      (archive) => whileReading(telling(archive, moved), (passed) => unpackWorkspace(to, passed, signal, 'own')),
      signal,
      (said) => (complaints = said),
    );
    return { manifest, complaints };
  },
  read: (handle, signal, moved) => packWorkspace(handle, (archive) => readManifest(telling(archive, moved)), signal),
};

const BY_FILE: Way = {
  async carry(from, to, signal, moved) {
    const manifest = await manifestOfFiles(from, signal, moved);
    await carryFiles(from, to, '.', signal, moved);
    return { manifest, complaints: '' };
  },
  read: manifestOfFiles,
};

const END_COMMANDS = 'End what writes to it, or let the migration end it: --end-commands.';

function notTheSame(what: string, hint: string): SubletError {
  return new SubletError('FILE_FAILED', `The working directory ${what}.`, { hint });
}
