/** Finds processes of this machine among all others, also in a tree that forks and exits faster than one can look. */
import { readdir } from 'node:fs/promises';

/** What a look at one process told: it is sought, it is not, or it ended before it could be looked at. */
export type Judgement = 'sought' | 'other' | 'gone';

const AT_ONCE = 32;
/** On a machine where some process always ends between two looks. */
const MAX_LISTINGS = 100;

/**
 * Host pids of those that `judge` takes; it is asked once for each.
 *
 * The kernel lists by number, and gives a child a higher one than its parent, so a listing names one process at least of
 * every tree that lives. But one that forks and exits before it is judged leaves no trace of its tree. So all that
 * have come since are listed and judged too, until everyone who was listed was judged in time: then a tree of which nothing
 * was found had ended when the last listing began.
 */
export async function searchProcesses(judge: (pid: number) => Promise<Judgement>): Promise<number[]> {
  const judged = new Set<number>();
  const found: number[] = [];
  let isSure = false;
  for (let listing = 0; !isSure && listing < MAX_LISTINGS; listing++) {
    const fresh = (await hostPids()).filter((pid) => !judged.has(pid)).values();
    isSure = true;
    const look = async (): Promise<void> => {
      for (const pid of fresh) {
        judged.add(pid);
        const judgement = await judge(pid);
        if (judgement === 'sought') found.push(pid);
        if (judgement === 'gone') isSure = false;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, look));
  }
  return found;
}

async function hostPids(): Promise<readonly number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/u.test(name)).map(Number);
}
