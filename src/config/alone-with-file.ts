/** One at a time changes a file, of all processes of this machine: by a file beside it that only one can make. */
import { open, rm, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { SubletError } from '../core/errors.ts';
import { isForbidden, unwritableError } from './private-file.ts';

/** Longer than anybody holds it: whoever made it was killed. */
const STALE_MS = 10_000;
const LOOK_EVERY_MS = 10;
const MAX_LOOKS = 3_000;

/** The directory must be there. STATE_CONFLICT when others hold the file for too long. */
export async function aloneWithFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  for (let look = 0; !(await make(lock)); look++) {
    if (look === MAX_LOOKS) throw heldError(path, lock);
    if (await isStale(lock)) await rm(lock, { force: true });
    else await pause(LOOK_EVERY_MS);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function make(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close();
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw isForbidden(cause) ? unwritableError(lock, cause) : cause;
  }
}

async function isStale(lock: string): Promise<boolean> {
  const made = await stat(lock).catch(() => undefined);
  return made !== undefined && Math.abs(Date.now() - made.mtimeMs) > STALE_MS;
}

function heldError(path: string, lock: string): SubletError {
  return new SubletError('STATE_CONFLICT', `${path} is being changed by others all the time.`, {
    details: { path },
    hint: `Try again. If nobody changes it, remove ${lock}.`,
  });
}
