/** A working directory from one sandbox to another, and the proof that it is there: streaming, with nothing on this machine. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxHandle } from '../../provider/provider.ts';
import { hasTar, packWorkspace, unpackWorkspace } from '../workspace-archive.ts';
import { readManifest, whileReading, type WorkspaceManifest } from './workspace-manifest.ts';

export interface Carried {
  readonly manifest: WorkspaceManifest;
  /** What the packer said though it packed everything it could: sockets that have no meaning elsewhere. */
  readonly complaints: string;
}

/**
 * Read three times: as it is sent, at the target once it is there, and at the source once more, so that what changed meanwhile is
 * not taken for the same. UNSUPPORTED without tar on either side, FILE_FAILED when anything is not the same.
 */
export async function carryVerified(from: SandboxHandle, to: SandboxHandle, signal: AbortSignal): Promise<Carried> {
  await assertTar([from, to], signal);
  let complaints = '';
  const manifest = await packWorkspace(
    from,
    (archive) => whileReading(archive, (passed) => unpackWorkspace(to, passed, signal, 'own')),
    signal,
    (said) => (complaints = said),
  );
  const there = manifest.difference(await packWorkspace(to, readManifest, signal));
  if (there !== undefined) throw notTheSame(`is not at the target as it was sent: ${there}`, 'Try another profile.');
  const meanwhile = manifest.difference(await packWorkspace(from, readManifest, signal));
  if (meanwhile !== undefined) throw notTheSame(`changed while it was carried over: ${meanwhile}`, END_COMMANDS);
  return { manifest, complaints };
}

/** UNSUPPORTED when one of them lacks it. */
export async function assertTar(handles: readonly SandboxHandle[], signal?: AbortSignal): Promise<void> {
  for (const handle of handles) {
    if (await hasTar(handle, signal)) continue;
    throw new SubletError('UNSUPPORTED', `Sandbox ${handle.ref.name} has no tar, which files are carried over with.`, {
      hint: 'Use an image that has tar.',
    });
  }
}

const END_COMMANDS = 'End what writes to it, or let the migration end it: --end-commands.';

function notTheSame(what: string, hint: string): SubletError {
  return new SubletError('FILE_FAILED', `The working directory ${what}.`, { hint });
}
