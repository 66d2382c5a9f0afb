/** Removes a directory tree that an agent wrote: it may hold directories that not even their owner may enter. */
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';

export async function removeTree(dir: string): Promise<void> {
  try {
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENOTEMPTY') throw cause;
    await openUp(dir);
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** `chmod` follows no link inside a tree. */
function openUp(dir: string): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn('chmod', ['-R', 'u+rwX', '--', dir], { stdio: 'ignore' });
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}
