/** From here into a sandbox. */
import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, posix, resolve } from 'node:path';
import type { AgentHandle } from '../../core/api.ts';
import { SubletError } from '../../core/errors.ts';

/** A file or a directory; into a directory that is there, under its own name. */
export async function copyIn(source: string, sandbox: AgentHandle, wanted: string, signal: AbortSignal): Promise<void> {
  const info = await stat(source).catch((cause: unknown) => {
    throw new SubletError('USAGE', `There is no ${source} here.`, { cause });
  });
  const target = await targetIn(sandbox, wanted, basename(resolve(source)), signal);
  if (info.isDirectory()) return copyDirectory(source, sandbox, target, signal);
  await sandbox.files.write(target, createReadStream(source), { mode: info.mode & 0o777, signal });
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
