/** Removes a directory tree that an agent wrote: it may hold directories that not even their owner may enter. */
import { spawn } from 'node:child_process';
import { readdir, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Missing is success. */
export async function removeTree(dir: string): Promise<void> {
  try {
    await removeDirectory(dir);
  } catch {
    await openUp(dir);
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** What goes easily; the rest is left to `removeTree`. Never rejects. */
export async function beginToRemove(dir: string): Promise<void> {
  await removeDirectory(dir).catch(() => undefined);
}

/** Half the system calls of the general `rm`, which asks what each entry is. */
async function removeDirectory(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) =>
    cause.code === 'ENOENT' ? undefined : Promise.reject(cause),
  );
  if (entries === undefined) return;
  for (let start = 0; start < entries.length; start += AT_ONCE) {
    await Promise.all(
      entries
        .slice(start, start + AT_ONCE)
        .map((entry) => (entry.isDirectory() ? removeDirectory(join(dir, entry.name)) : unlink(join(dir, entry.name)))),
    );
  }
  await rmdir(dir);
}

const AT_ONCE = 32;

/** `chmod` follows no link inside a tree. */
function openUp(dir: string): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn('chmod', ['-R', 'u+rwX', '--', dir], { stdio: 'ignore' });
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}
