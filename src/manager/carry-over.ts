/** Copies a working directory from one sandbox to another, streaming. */
import type { SandboxHandle } from '../provider/provider.ts';
import { hasTar, packWorkspace, unpackWorkspace } from './workspace-archive.ts';

/** With `tar` where both have it, which keeps links and times; else file by file. */
export async function carryOver(from: SandboxHandle, to: SandboxHandle, signal?: AbortSignal): Promise<void> {
  const [here, there] = await Promise.all([hasTar(from, signal), hasTar(to, signal)]);
  if (here && there) await packWorkspace(from, (archive) => unpackWorkspace(to, archive, signal), signal);
  else await carryFiles(from, to, '.', signal);
}

/** Files and directories; links and what else there is are left out. */
export async function carryFiles(
  from: SandboxHandle,
  to: SandboxHandle,
  directory: string,
  signal?: AbortSignal,
  moved: () => void = () => {},
): Promise<void> {
  for (const entry of await from.files.list(directory, { signal })) {
    moved();
    const path = `${directory}/${entry.name}`;
    if (entry.kind === 'directory') {
      await to.files.mkdir(path, { signal });
      await carryFiles(from, to, path, signal, moved);
    } else if (entry.kind === 'file') {
      await to.files.write(path, from.files.readStream(path, { signal }), { mode: entry.mode, signal });
    }
  }
}
