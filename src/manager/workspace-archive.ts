/** A working directory as a tar archive, streaming: nothing of it is held in memory. */
import { SubletError } from '../core/errors.ts';
import { shellQuote } from '../provider/posix/shell-quote.ts';
import type { SandboxHandle } from '../provider/provider.ts';

export async function hasTar({ commands }: SandboxHandle, signal?: AbortSignal): Promise<boolean> {
  return (await commands.run('command -v tar', { signal })).exitCode === 0;
}

/** What `read` makes of the archive, once all of it was packed. FILE_FAILED when it was not. `said`: what tar said all the same. */
export async function packWorkspace<T>(
  { commands, workdir }: SandboxHandle,
  read: (archive: AsyncIterable<Uint8Array>) => Promise<T>,
  signal?: AbortSignal,
  said?: (complaints: string) => void,
): Promise<T> {
  const pipe = new TransformStream<Uint8Array, Uint8Array>();
  const writer = pipe.writable.getWriter();
  let failure: { readonly cause: unknown } | undefined;
  // Each end fails with the other: a reader must not take half of it for the whole, nor a packer wait for no reader.
  const fail = async (cause: unknown): Promise<undefined> => {
    failure ??= { cause };
    await writer.abort(cause).catch(() => {});
    return undefined;
  };
  const options = {
    signal,
    maxOutputBytes: 4096,
    onStdout: (chunk: Uint8Array) => writer.write(Uint8Array.from(chunk)),
  };
  const pack = commands.run(`tar -C ${shellQuote(workdir)} -cf - .`, options).then(async ({ exitCode, stderr }) => {
    if (exitCode !== 0) throw tarFailed('packed', stderr);
    said?.(stderr);
    await writer.close();
  });
  const [result] = await Promise.all([read(pipe.readable).catch(fail), pack.catch(fail)]);
  if (failure !== undefined) throw failure.cause;
  return result as T;
}

/** FILE_FAILED when not all of it could be unpacked. Owners are kept by number where they may be, or are whoever unpacks. */
export async function unpackWorkspace(
  { commands, workdir }: SandboxHandle,
  archive: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
  owners: 'kept' | 'own' = 'kept',
): Promise<void> {
  const flags = owners === 'kept' ? '-xf' : '-xpof';
  const { exitCode, stderr } = await commands.run(`tar -C ${shellQuote(workdir)} ${flags} -`, {
    signal,
    stdin: archive,
  });
  if (exitCode !== 0) throw tarFailed('unpacked', stderr);
}

export async function emptyWorkspace({ files }: SandboxHandle): Promise<void> {
  for (const { name } of await files.list('.')) await files.remove(`./${name}`);
}

function tarFailed(what: string, stderr: string): SubletError {
  return new SubletError(
    'FILE_FAILED',
    `The working directory could not be ${what}: ${stderr.trim() || 'tar failed'}.`,
    {
      hint: 'Look for files in it that cannot be read or that change all the time.',
    },
  );
}
