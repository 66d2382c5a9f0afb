/** Removes a directory tree that an agent wrote: it may hold directories that not even their owner may enter. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { readdir, rm, rmdir, unlink } from 'node:fs/promises';
import { ownTurn } from '../../provider/posix/own-turn.ts';
import { DISK_DIRS, type SandboxPaths } from './layout.ts';

/** Only when nobody who can write in it lives any more: it is walked by its paths. Missing is success. */
export async function removeTree(dir: string): Promise<void> {
  try {
    await removeDirectory(dir);
  } catch {
    await openUp(dir);
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Entries of a directory of ours that may be removed at once, without keeping anybody waiting. */
const FEW = 16;

/** A directory with a few small files of ours goes at once. False where anything else is in it; missing is success. */
export function removeSmall(dir: string): boolean {
  try {
    const names = readdirSync(dir);
    if (names.length > FEW) return false;
    // What is a directory refuses, and those of ours that went before are gone.
    for (const name of names) unlinkSync(`${dir}/${name}`);
    rmdirSync(dir);
    return true;
  } catch {
    // Somebody else may have removed a part of it, or all.
    return !existsSync(dir);
  }
}

/**
 * While a sandbox's processes end: what nobody has used of its disk, and its pipes. No path leads through a directory that
 * they can write: they could exchange it for a link while it is walked. The rest is left to `removeTree`. Never rejects.
 */
export async function beginToClear({ disk, channel }: Pick<SandboxPaths, 'disk' | 'channel'>): Promise<void> {
  await ownTurn();
  if (DISK_DIRS.map(({ name }) => removeEmpty(`${disk}/${name}`)).every(Boolean)) removeEmpty(disk);
  removeSmall(channel);
}

/** A directory that nobody has put anything into goes at once. False where something is in it; missing is success. */
function removeEmpty(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Half the system calls of the general `rm`, which asks what each entry is. What somebody else removes meanwhile is removed. */
async function removeDirectory(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(ignoreMissing);
  if (entries === undefined) return;
  for (let start = 0; start < entries.length; start += AT_ONCE) {
    await Promise.all(
      entries
        .slice(start, start + AT_ONCE)
        .map((entry) => (entry.isDirectory() ? removeDirectory : removeFile)(`${dir}/${entry.name}`)),
    );
  }
  await rmdir(dir).catch(ignoreMissing);
}

function removeFile(path: string): Promise<void> {
  return unlink(path).catch(ignoreMissing);
}

function ignoreMissing(cause: NodeJS.ErrnoException): undefined {
  if (cause.code !== 'ENOENT') throw cause;
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
