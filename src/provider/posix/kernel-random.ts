/** Random bytes from the kernel's own file: Node's module for them takes longer to load than a sandbox to start. */
import { closeSync, openSync, readSync } from 'node:fs';

/** As good as `crypto.randomBytes`, which reads them from the same place. */
export function kernelRandom(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let fd: number;
  try {
    fd = openSync('/dev/urandom', 'r');
  } catch {
    // Not a system that has it.
    return globalThis.crypto.getRandomValues(bytes);
  }
  try {
    for (let filled = 0; filled < length;) filled += readSync(fd, bytes, filled, length - filled, null);
  } finally {
    closeSync(fd);
  }
  return bytes;
}
