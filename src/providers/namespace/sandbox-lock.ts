/**
 * One move of a sandbox at a time, whoever makes it: a stop that is slower than the start after it would forget the
 * processes of the latter. The lock is a link that names its holder; one whose holder was killed is broken.
 */
import { randomUUID } from 'node:crypto';
import { readlink, symlink, unlink } from 'node:fs/promises';
import { type Clock, sleep } from '../../core/clock.ts';
import { judgeMaker, makerMark } from '../../provider/posix/maker-mark.ts';
import { lockPath } from './layout.ts';

const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;

/** The sandbox's directory may be gone: then there is nobody to exclude. */
export async function withLock<T>(dir: string, clock: Clock, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const lock = lockPath(dir);
  const holder = `${makerMark()}${randomUUID()}`;
  for (let pauseMs = FIRST_PAUSE_MS; !(await take(lock, holder)); pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS))
    await sleep(clock, pauseMs, signal);
  try {
    return await work();
  } finally {
    // A destroy has removed it with all the rest, and the sandbox may have been made anew since.
    await removeOf(holder, lock);
  }
}

async function take(lock: string, holder: string): Promise<boolean> {
  try {
    await symlink(holder, lock);
    return true;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    if (code !== 'EEXIST') throw cause;
  }
  const present = await readlink(lock).catch(() => undefined);
  if (present !== undefined && judgeMaker(present) === 'gone') await breakLock(lock, present, holder);
  return false;
}

// Who breaks has a lock for that, named after whom it is taken from: so nobody else removes that one's, and who comes late
// finds another's and leaves it.
async function breakLock(lock: string, abandoned: string, holder: string): Promise<void> {
  const right = `${lock}.${abandoned}`;
  if (!(await take(right, holder))) return;
  await removeOf(abandoned, lock);
  await removeOf(holder, right);
}

async function removeOf(holder: string, lock: string): Promise<void> {
  const present = await readlink(lock).catch(() => undefined);
  if (present === holder) await unlink(lock).catch(() => undefined);
}
