/** Whether a store can be written where it is to be, found out by writing. */
import { access, constants, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { toStoreError } from './sqlite-errors.ts';

/** What a store writes at least; a full disk may have room for less. */
const TRIED_BYTES = 64 * 1024;

/** STORE_FAILED when it cannot. Leaves nothing; of a directory that is yet to be made only the place is looked at. */
export async function tryPlace(path: string): Promise<void> {
  await tryToWrite(dirname(path)).catch((cause: unknown) => {
    throw toStoreError(cause, path);
  });
}

async function tryToWrite(directory: string): Promise<void> {
  const file = join(directory, `.try-${process.pid}`);
  try {
    await writeFile(file, Buffer.alloc(TRIED_BYTES), { mode: 0o600 });
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT' && dirname(directory) !== directory;
    if (!isMissing) throw cause;
    await access(await nearest(dirname(directory)), constants.W_OK);
  } finally {
    await rm(file, { force: true });
  }
}

async function nearest(directory: string): Promise<string> {
  return access(directory).then(
    () => directory,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ENOENT') throw cause;
      return nearest(dirname(directory));
    },
  );
}
