/**
 * A nameless pipe for a command's standard input.
 *
 * Node makes only socket pairs, which a command cannot reopen, and a FIFO without a writer makes `cat /dev/stdin` wait for
 * one for ever. A shell makes a true pipe for every `|`, and /proc lets this process open both its ends.
 */
import { spawn } from 'node:child_process';
import { constants, open } from 'node:fs';
import { promisify } from 'node:util';
import { SubletError } from '../../core/errors.ts';
import { closeFd, type Pipe } from './fifo-pool.ts';

const openFd = promisify(open);
// Says its pid, then holds the pipe on descriptor 4 until its own input, saved as 3, ends.
const HOLDER = 'exec 3<&0; : | { exec 4<&0; read -r pid rest </proc/self/stat; echo "$pid"; read -r rest <&3; }';

/** The reading end does not block until it is a child's standard input, where Node makes it block. */
export async function openAnonymousPipe(): Promise<Pipe> {
  const holder = spawn('/bin/sh', ['-c', HOLDER], { stdio: ['pipe', 'pipe', 'ignore'] });
  holder.stdin.on('error', () => undefined);
  try {
    const pid = await new Promise<string>((resolve, reject) => {
      holder.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()));
      holder.once('error', reject);
      holder.once('close', () => reject(new SubletError('PROVIDER_UNUSABLE', '/bin/sh did not make a pipe.')));
    });
    const readFd = await openFd(`/proc/${pid}/fd/4`, constants.O_RDONLY | constants.O_NONBLOCK);
    const writeFd = await openFd(`/proc/${pid}/fd/4`, constants.O_WRONLY).catch(async (error: unknown) => {
      await closeFd(readFd);
      throw error;
    });
    return { readFd, writeFd };
  } finally {
    holder.stdin.end();
  }
}
