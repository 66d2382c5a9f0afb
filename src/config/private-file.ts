/** Files that only their owner may read, and what is asked of them. */
import { randomUUID } from 'node:crypto';
import { realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SubletError } from '../core/errors.ts';

/** Replaces a file in one step, mode 600: a reader sees the old text or the new, never half of one. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  // The target of a link is replaced, not the link, so that linked dotfiles stay linked.
  const target = await realpath(path).catch(() => path);
  const draft = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true });
    await rename(draft, target);
  } catch (cause) {
    await rm(draft, { force: true });
    throw isForbidden(cause) ? unwritableError(target, cause) : cause;
  }
}

export function isOpenToOthers(mode: number): boolean {
  return process.platform !== 'win32' && (mode & 0o077) !== 0;
}

export function isMissing(cause: unknown): boolean {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

export function isForbidden(cause: unknown): boolean {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? '';
  return code === 'EACCES' || code === 'EPERM' || code === 'EROFS';
}

export function unwritableError(path: string, cause: unknown): SubletError {
  return new SubletError('PERMISSION_DENIED', `${path} cannot be written by this user.`, {
    cause,
    details: { path },
    hint: `Check who owns its directory: ls -ld ${dirname(path)}; or set SUBLET_HOME to one that this user may write.`,
  });
}

export function unreadableError(path: string, cause: unknown): SubletError {
  return new SubletError('CONFIG_INVALID', `${path} cannot be read.`, {
    cause,
    hint: `Check who owns it: ls -ld ${path}`,
  });
}
