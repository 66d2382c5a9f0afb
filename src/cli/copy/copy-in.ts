/** From here into a sandbox. */
import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, posix, resolve } from 'node:path';
import type { AgentHandle } from '../../core/api.ts';
import { SubletError, toSubletError } from '../../core/errors.ts';
import type { FileContent } from '../../core/files.ts';

/** A file or a directory; into a directory that is there, under its own name. */
export async function copyIn(source: string, sandbox: AgentHandle, wanted: string, signal: AbortSignal): Promise<void> {
  await using file = await openSource(source);
  const info = await file.stat();
  if (!info.isDirectory() && !info.isFile()) {
    throw new SubletError('USAGE', `${source} is neither a file nor a directory.`, {
      hint: `To copy what can be read from it: sublet cp - ID:PATH < ${source}`,
    });
  }
  const target = await targetIn(sandbox, wanted, basename(resolve(source)), signal);
  if (info.isDirectory()) return await copyDirectory(source, sandbox, target, signal);
  await writeWhole(sandbox, target, file.createReadStream({ autoClose: false }), signal, info.mode & 0o777);
}

/** One that is cut short does not stay where there was none before; of one that was there the error says it. */
export async function writeWhole(
  { files }: AgentHandle,
  target: string,
  content: FileContent,
  signal: AbortSignal,
  mode?: number,
): Promise<void> {
  const isNew = !(await files.exists(target, { signal }));
  try {
    await files.write(target, content, mode === undefined ? { signal } : { mode, signal });
  } catch (cause) {
    const isRemoved =
      isNew &&
      (await files.remove(target).then(
        () => true,
        () => false,
      ));
    if (isRemoved) throw cause;
    const { code, message, hint } = toSubletError(cause, 'FILE_FAILED', signal);
    const left = `${target} in the sandbox may hold a part of it.`;
    throw new SubletError(code, message, { cause, hint: hint === undefined ? left : `${hint}\n${left}` });
  }
}

/** Without waiting: a pipe that nobody writes would keep the open, and this process, for ever. */
async function openSource(source: string): Promise<FileHandle> {
  try {
    return await open(source, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new SubletError('USAGE', `There is no ${source} here.`, { cause });
    throw new SubletError('USAGE', `${source} cannot be read: ${message}`, { cause });
  }
}

async function targetIn({ files }: AgentHandle, wanted: string, name: string, signal: AbortSignal): Promise<string> {
  const present = (await files.exists(wanted, { signal })) ? await files.stat(wanted, { signal }) : undefined;
  return wanted.endsWith('/') || present?.kind === 'directory' ? posix.join(wanted, name) : wanted;
}

async function copyDirectory(source: string, sandbox: AgentHandle, target: string, signal: AbortSignal): Promise<void> {
  await sandbox.files.mkdir(target, { signal });
  // -o: files belong to the sandbox's user, whoever owns them here.
  const unpacked = await sandbox.commands.run(['tar', '-x', '-o', '-f', '-', '-C', target], {
    stdin: packDirectory(source, signal),
    signal,
  });
  if (unpacked.exitCode !== 0) {
    throw new SubletError('FILE_FAILED', `The sandbox cannot unpack into ${target}: ${unpacked.stderr.trim()}`);
  }
}

/**
 * A tar of what is below the directory. It starts when it is first read from: Node throws away what a process wrote and
 * nobody had begun to read when it ended, and a small directory would arrive empty.
 */
export async function* packDirectory(source: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
  const tar = spawn('tar', ['-c', '-f', '-', '-C', resolve(source), '.'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  let complaint = '';
  tar.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2_000)));
  const ended = new Promise<string | undefined>((done) => {
    tar.on('error', (error) => done(error.message));
    tar.on('close', (status) => done(status === 0 ? undefined : complaint.trim() || `tar ended with ${status}`));
  });
  yield* tar.stdout as AsyncIterable<Uint8Array>;
  const problem = await ended;
  if (problem !== undefined) throw new SubletError('FILE_FAILED', `${source} cannot be read: ${problem}`);
}
