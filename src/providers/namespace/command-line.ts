/** What a process was started as, as the kernel shows it. */
import { open } from 'node:fs/promises';

/** Of one that is longer, the beginning. */
const MOST_BYTES = 16 * 1024;

/**
 * Its words, by one call: a second one, for the rest, goes on in the words of what the process has become since. Empty when it has
 * ended.
 */
export async function readCommandLine(path: string): Promise<string> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return '';
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead).replaceAll('\0', ' ').trim();
  } catch {
    return '';
  } finally {
    await file.close();
  }
}
