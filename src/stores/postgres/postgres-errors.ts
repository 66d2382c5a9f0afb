/** Postgres's errors as ours. No message holds more of the URL than its user, host and database. */
import { SubletError, type ErrorCode } from '../../core/errors.ts';

/** The connection broke, timed out or was never made: the server's answer, if there was one, is not known. */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/**
 * `busy`: another transaction was in the way, and this one has left nothing. `lost`: so has the connection. Both are worth
 * another try. `final`: trying again changes nothing.
 */
export type Trouble = 'busy' | 'lost' | 'final';

// SQLSTATE codes: serialization failure, deadlock, lock time-out, statement time-out, too many connections.
const BUSY: readonly string[] = ['40001', '40P01', '55P03', '57014', '53300'];

// A server that shuts down, crashed or starts, a session ended for idling, a server that has become a standby.
const LOST: readonly string[] = ['57P01', '57P02', '57P03', '57P05', '25P03', '25P04', '25006'];

export function troubleOf(cause: unknown): Trouble {
  if (cause instanceof LostConnection) return 'lost';
  const state = sqlState(cause);
  if (BUSY.includes(state)) return 'busy';
  return LOST.includes(state) || state.startsWith('08') ? 'lost' : 'final';
}

/** True for a server that is there and will answer soon. */
export function isStarting(cause: unknown): boolean {
  return sqlState(cause) === '57P03';
}

interface Meaning {
  readonly code: ErrorCode;
  readonly what: string;
  readonly hint: string;
}

const CREDENTIALS: Meaning = {
  code: 'AUTH_FAILED',
  what: 'refused the credentials',
  hint: 'Check user and password in SUBLET_STORE; a password that is not in the URL is taken from PGPASSWORD or ~/.pgpass.',
};
const TABLES: Meaning = {
  code: 'STORE_CORRUPT',
  what: 'has lost tables or columns',
  hint: 'Restore the schema "sublet" from a backup, or drop it (drop schema sublet cascade) to start with an empty store.',
};
const DAMAGED: Meaning = {
  code: 'STORE_CORRUPT',
  what: 'is damaged',
  hint: 'See the server’s log, and restore the database from a backup.',
};

const MEANINGS: Readonly<Record<string, Meaning>> = {
  '28P01': CREDENTIALS,
  '28000': CREDENTIALS,
  '42501': {
    code: 'PERMISSION_DENIED',
    what: 'does not let this user in',
    hint: 'As the database’s owner: create schema sublet authorization <user>; and grant connect on database <database> to <user>;',
  },
  '3D000': {
    code: 'STORE_FAILED',
    what: 'does not exist',
    hint: 'Create the database (createdb <database>), or name another one in SUBLET_STORE.',
  },
  '53100': { code: 'STORE_FAILED', what: 'has no space left', hint: 'Free some space on the server’s disk.' },
  '25006': {
    code: 'STORE_FAILED',
    what: 'is a standby and takes no writes',
    hint: 'Name the primary server in SUBLET_STORE.',
  },
  '42P01': TABLES,
  '42703': TABLES,
  '3F000': TABLES,
  XX001: DAMAGED,
  XX002: DAMAGED,
};

const UNREACHABLE: Meaning = {
  code: 'STORE_FAILED',
  what: 'did not answer',
  hint: 'Check host and port in SUBLET_STORE, and that the server runs and this machine may reach it.',
};
const OTHER: Meaning = {
  code: 'STORE_FAILED',
  what: 'could not be used',
  hint: 'See the server’s log for what it refused.',
};

export function toStoreError(cause: unknown, where: string): SubletError {
  if (SubletError.is(cause)) return cause;
  const { code, what, hint } = meaningOf(cause);
  const message = cause instanceof Error ? cause.message : String(cause);
  return new SubletError(code, `The store ${where} ${what}: ${message}.`, { cause, hint, details: { store: where } });
}

export function busyStore(where: string, waitedMs: number, cause: unknown): SubletError {
  return new SubletError('STORE_BUSY', `The store ${where} was too busy for ${waitedMs} ms.`, {
    cause,
    hint: 'Try again. If it stays so, look for long transactions and full connection slots in pg_stat_activity.',
    details: { store: where, waitedMs },
  });
}

/** The one failure after which a change may or may not have happened. */
export function unknownOutcome(where: string, cause: unknown): SubletError {
  return new SubletError(
    'STORE_FAILED',
    `The store ${where} was lost during a commit and did not come back; whether the change was made is not known.`,
    {
      cause,
      hint: 'When the server is back, look before repeating: sublet ls, sublet events.',
      details: { store: where, outcome: 'unknown' },
    },
  );
}

export function strangeStore(where: string, why: string, hint: string): SubletError {
  return new SubletError('STORE_FAILED', `The store ${where} cannot be used: ${why}.`, {
    hint,
    details: { store: where },
  });
}

function meaningOf(cause: unknown): Meaning {
  const known = MEANINGS[sqlState(cause)];
  if (known !== undefined) return known;
  if (!(cause instanceof LostConnection)) return troubleOf(cause) === 'lost' ? UNREACHABLE : OTHER;
  // The driver's own words when the server asks for a password and none was given.
  return /password must be a (non-empty )?string/.test(cause.message) ? CREDENTIALS : UNREACHABLE;
}

function sqlState(cause: unknown): string {
  if (!(cause instanceof Error) || cause instanceof LostConnection) return '';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
}
