/** Copies a working directory from one sandbox to another, streaming. */
import type { SandboxHandle } from '../provider/provider.ts';
import { shellQuote } from '../provider/posix/shell-quote.ts';
import { SubletError } from '../core/errors.ts';

/** With `tar` where both have it, which keeps links and times; else file by file. */
export async function carryOver(from: SandboxHandle, to: SandboxHandle, signal?: AbortSignal): Promise<void> {
  const [here, there] = await Promise.all([hasTar(from, signal), hasTar(to, signal)]);
  if (here && there) await carryTar(from, to, signal);
  else await carryFiles(from, to, '.', signal);
}

async function hasTar({ commands }: SandboxHandle, signal?: AbortSignal): Promise<boolean> {
  return (await commands.run('command -v tar', { signal })).exitCode === 0;
}

async function carryTar(from: SandboxHandle, to: SandboxHandle, signal?: AbortSignal): Promise<void> {
  const pipe = new TransformStream<Uint8Array, Uint8Array>();
  const writer = pipe.writable.getWriter();
  const pack = from.commands
    .run(`tar -C ${shellQuote(from.workdir)} -cf - .`, {
      signal,
      maxOutputBytes: 4096,
      onStdout: (chunk) => writer.write(Uint8Array.from(chunk)),
    })
    .finally(() => void writer.close().catch(() => {}));
  const unpack = to.commands
    .run(`tar -C ${shellQuote(to.workdir)} -xf -`, { signal, stdin: pipe.readable })
    // A packer whose reader is gone would wait for ever.
    .finally(() => void writer.abort().catch(() => {}));
  const [packed, unpacked] = await Promise.all([pack, unpack]);
  const failed = [packed, unpacked].find((result) => result.exitCode !== 0);
  if (failed === undefined) return;
  throw new SubletError(
    'FILE_FAILED',
    `The working directory could not be carried over: ${failed.stderr.trim() || 'tar failed'}.`,
    {
      hint: 'Look for files in it that cannot be read.',
    },
  );
}

async function carryFiles(
  from: SandboxHandle,
  to: SandboxHandle,
  directory: string,
  signal?: AbortSignal,
): Promise<void> {
  for (const entry of await from.files.list(directory, { signal })) {
    const path = `${directory}/${entry.name}`;
    if (entry.kind === 'directory') {
      await to.files.mkdir(path, { signal });
      await carryFiles(from, to, path, signal);
    } else if (entry.kind === 'file') {
      await to.files.write(path, from.files.readStream(path, { signal }), { mode: entry.mode, signal });
    }
  }
}
