/** From a sandbox to here. What the sandbox sends is not trusted: see `extract`. */
import { createWriteStream, type Stats } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { AgentHandle } from '../../core/api.ts';
import { SubletError, toSubletError } from '../../core/errors.ts';
import type { FileInfo } from '../../core/files.ts';
import { ChunkHandover } from './chunk-handover.ts';
import { extract } from './extract.ts';

/** A file or a directory; into a directory that is there, under its own name. Returns what was left out. */
export async function copyOut(
  sandbox: AgentHandle,
  source: string,
  wanted: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const info = await statThrough(sandbox, source, signal);
  const isInto = (await statHere(wanted))?.isDirectory() === true;
  const target = isInto ? join(wanted, posix.basename(posix.resolve('/', source))) : wanted;
  if (info.kind === 'directory') return copyDirectory(sandbox, source, target, signal);
  if (info.kind === 'other') throw new SubletError('FILE_FAILED', `${source} is neither a file nor a directory.`);
  const isNew = (await statHere(target)) === undefined;
  const file = createWriteStream(target, { mode: info.mode & 0o777 });
  try {
    await pipeline(sandbox.files.readStream(source, { signal }), file, { signal });
  } catch (cause) {
    if (isNew) await rm(target, { force: true });
    throw cause;
  }
  return [];
}

function statHere(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}

/** Of what a link leads to, as `cp` has it: the link's own kind and mode say nothing of the copy. */
async function statThrough({ files, commands }: AgentHandle, path: string, signal: AbortSignal): Promise<FileInfo> {
  const info = await files.stat(path, { signal });
  if (info.kind !== 'link') return info;
  const { exitCode, stdout } = await commands.run(['readlink', '-f', '--', path], { signal });
  const end = exitCode === 0 ? stdout.replace(/\n$/, '') : '';
  if (end === '') throw new SubletError('FILE_NOT_FOUND', `${path} is a link that leads to nothing.`);
  return files.stat(end, { signal });
}

async function copyDirectory(
  sandbox: AgentHandle,
  source: string,
  target: string,
  outer: AbortSignal,
): Promise<readonly string[]> {
  const stop = new AbortController();
  const archive = new ChunkHandover();
  const packed = sandbox.commands.run(['tar', '-c', '-f', '-', '-C', source, '.'], {
    signal: AbortSignal.any([outer, stop.signal]),
    maxOutputBytes: 4096,
    onStdout: (chunk) => archive.give(chunk),
  });
  packed.then(
    () => archive.end(),
    (error: unknown) => archive.end(toSubletError(error, 'FILE_FAILED')),
  );
  let skipped: readonly string[];
  try {
    ({ skipped } = await extract(archive, target));
  } catch (error) {
    stop.abort();
    archive.cancel();
    await packed.catch(() => undefined);
    throw error;
  }
  // What follows the archive's end is padding.
  archive.cancel();
  const { exitCode, stderr } = await packed;
  if (exitCode !== 0) throw new SubletError('FILE_FAILED', `The sandbox cannot pack ${source}: ${stderr.trim()}`);
  return skipped;
}
