/** SQLite's errors as ours. */
import { dirname } from 'node:path';
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
/** An extended code: the file ends before a page that its header counts. */
const SHORT_READ = 522;

/** The driver's `all` throws without a code; these are SQLite's own texts for the codes that matter here. */
const CODE_OF_MESSAGE: Readonly<Record<string, number>> = {
  'database is locked': BUSY,
  'database table is locked': LOCKED,
  'attempt to write a readonly database': READONLY,
  'database disk image is malformed': CORRUPT,
  'database or disk is full': FULL,
  'unable to open database file': CANTOPEN,
  'locking protocol': PROTOCOL,
  'file is not a database': NOTADB,
};

const SCHEMA_DAMAGE = /^no such (table|column|index)/;

const NO_ACCESS = 'Make the file and its directory writable by this user, or set SUBLET_HOME to a directory that is.';
const NO_SPACE = 'no space';

const HINTS: Readonly<Record<string, string>> = {
  [READONLY]: NO_ACCESS,
  [CANTOPEN]: NO_ACCESS,
  EACCES: NO_ACCESS,
  EPERM: NO_ACCESS,
  EROFS: NO_ACCESS,
  [FULL]: NO_SPACE,
  ENOSPC: NO_SPACE,
  EDQUOT: NO_SPACE,
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
  if (isDamage(cause, message)) return corruptStore(path, message, cause);
  const hint = HINTS[code ?? systemCode(cause)];
  return new SubletError('STORE_FAILED', `The store ${path} could not be used: ${message}.`, {
    cause,
    hint:
      hint === NO_SPACE
        ? spaceHint(dirname(path))
        : (hint ?? 'Check the disk that holds it, and that every part of the path is a directory.'),
    details: { path },
  });
}

/** Destroying a sandbox is written down first, so a disk that one of them filled is freed by hand. */
function spaceHint(home: string): string {
  return (
    'Free some space on that disk, or set SUBLET_HOME to a directory on another one.\n' +
    `du -sh ${home}/providers/*/sandboxes/* shows what sandboxes take; what is below its disk/ or workspace/ may be deleted,\n` +
    'and then it can be destroyed with: sublet rm'
  );
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

function isDamage(cause: unknown, message: string): boolean {
  const code = resultCode(cause);
  return code === CORRUPT || code === NOTADB || extendedCode(cause) === SHORT_READ || SCHEMA_DAMAGE.test(message);
}

function resultCode(cause: unknown): number | undefined {
  const extended = extendedCode(cause);
  if (extended !== undefined) return extended & 0xff;
  return cause instanceof Error ? CODE_OF_MESSAGE[cause.message] : undefined;
}

function extendedCode(cause: unknown): number | undefined {
  return cause instanceof Error && 'errcode' in cause && typeof cause.errcode === 'number' ? cause.errcode : undefined;
}

function systemCode(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}
