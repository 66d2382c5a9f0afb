/** SQLite's errors as ours. */
import { SubletError } from '../../core/errors.ts';

// SQLite's primary result codes; the low byte of every extended code.
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;

const SCHEMA_DAMAGE = /^no such (table|column|index)/;

const HINTS: Readonly<Record<number, string>> = {
  [READONLY]: 'Make the file and its directory writable by this user, or set SUBLET_HOME to a directory that is.',
  [FULL]: 'Free some space on that disk, or set SUBLET_HOME to a directory on another one.',
  [CANTOPEN]: 'Make the file and its directory readable and writable by this user, or set SUBLET_HOME elsewhere.',
};

/** True when another connection holds the lock and trying again is right. */
export function isBusy(cause: unknown): boolean {
  const code = resultCode(cause);
  return code === BUSY || code === LOCKED || code === PROTOCOL;
}

/** True when the file, or a directory above it, is not there or may not be opened. */
export function isCannotOpen(cause: unknown): boolean {
  return resultCode(cause) === CANTOPEN;
}

export function toStoreError(cause: unknown, path: string): SubletError {
  if (SubletError.is(cause)) return cause;
  const code = resultCode(cause);
  const message = cause instanceof Error ? cause.message : String(cause);
  if (code === CORRUPT || code === NOTADB || SCHEMA_DAMAGE.test(message)) return corruptStore(path, message, cause);
  return new SubletError('STORE_FAILED', `The store ${path} could not be used: ${message}.`, {
    cause,
    hint: (code === undefined ? undefined : HINTS[code]) ?? 'Check the disk that holds it and its permissions.',
    details: { path },
  });
}

export function corruptStore(path: string, why: string, cause?: unknown): SubletError {
  return new SubletError('STORE_CORRUPT', `The store ${path} is damaged: ${why}. It was left as it is.`, {
    cause,
    hint: `Move it aside (mv '${path}' '${path}.damaged') and run again to start with an empty store.`,
    details: { path },
  });
}

export function busyStore(path: string, waitedMs: number, cause: unknown): SubletError {
  return new SubletError('STORE_BUSY', `The store ${path} stayed locked by another process for ${waitedMs} ms.`, {
    cause,
    hint: 'Try again. If it stays so, find the process that holds the file (fuser or lsof) and end it.',
    details: { path, waitedMs },
  });
}

function resultCode(cause: unknown): number | undefined {
  if (!(cause instanceof Error) || !('errcode' in cause) || typeof cause.errcode !== 'number') return undefined;
  return cause.errcode & 0xff;
}
