/** What is in a working directory, for sandboxes without tar: asked for file by file. */
import { createHash } from 'node:crypto';
import { SubletError } from '../../core/errors.ts';
import type { SandboxHandle } from '../../provider/provider.ts';
import { telling } from './while-moving.ts';
import { WorkspaceManifest } from './workspace-manifest.ts';

/** UNSUPPORTED for what cannot be made by writing files: links, FIFOs. */
export async function manifestOfFiles(
  handle: SandboxHandle,
  signal: AbortSignal,
  moved: () => void,
): Promise<WorkspaceManifest> {
  const manifest = new WorkspaceManifest();
  await addDirectory(manifest, handle, '.', signal, moved);
  return manifest;
}

async function addDirectory(
  manifest: WorkspaceManifest,
  handle: SandboxHandle,
  directory: string,
  signal: AbortSignal,
  moved: () => void,
): Promise<void> {
  const { files, ref } = handle;
  for (const { name, kind, mode, sizeBytes } of await files.list(directory, { signal })) {
    moved();
    const path = `${directory}/${name}`;
    if (kind === 'directory') {
      manifest.add(path, kind, 0);
      await addDirectory(manifest, handle, path, signal, moved);
    } else if (kind === 'file') {
      const hash = createHash('sha256');
      for await (const chunk of telling(files.readStream(path, { signal }), moved)) hash.update(chunk);
      manifest.add(path, `${kind} ${mode} ${hash.digest('hex')}`, sizeBytes);
    } else {
      throw new SubletError(
        'UNSUPPORTED',
        `${path} is neither a file nor a directory, and ${ref.name} or its target has no tar.`,
        {
          hint: 'Use images that have tar.',
        },
      );
    }
  }
}
