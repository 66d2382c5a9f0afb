/** Directories down to a given one. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * What is there is left as it is. One at a time: Node's own way to make all of them tries for ever where none can be
 * made, as below /proc.
 */
export function makeDirectories(dir: string, mode: number, isLastTry = false): void {
  try {
    mkdirSync(dir, { mode });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || isLastTry || dirname(dir) === dir) throw cause;
    makeDirectories(dirname(dir), mode);
    makeDirectories(dir, mode, true);
  }
}
