/** The one error class and the one table of codes. HTTP status, exit status, retry and docs are derived from it. */

export interface ErrorCodeInfo {
  readonly status: number;
  readonly exit: number;
  readonly retryable: boolean;
  readonly title: string;
}

export const ERROR_CODES = {
  USAGE: { status: 400, exit: 64, retryable: false, title: 'The call or the command line is wrong.' },
  CONFIG_INVALID: { status: 400, exit: 78, retryable: false, title: 'A profile, variable or option has a bad value.' },
  PROFILE_NOT_FOUND: { status: 404, exit: 66, retryable: false, title: 'No profile and no provider has that name.' },
  PROVIDER_UNUSABLE: {
    status: 503,
    exit: 69,
    retryable: false,
    title: 'The provider cannot work on this machine as it is.',
  },
  PROVIDER_UNAVAILABLE: {
    status: 503,
    exit: 75,
    retryable: true,
    title: 'The provider did not answer; trying again may help.',
  },
  AUTH_FAILED: { status: 401, exit: 77, retryable: false, title: 'The provider or the store refused the credentials.' },
  PERMISSION_DENIED: { status: 403, exit: 77, retryable: false, title: 'This user may not do that.' },
  RATE_LIMITED: { status: 429, exit: 75, retryable: true, title: 'The provider asks to slow down.' },
  QUOTA_EXCEEDED: { status: 429, exit: 75, retryable: false, title: 'The provider has no room left for this account.' },
  UNSUPPORTED: { status: 501, exit: 69, retryable: false, title: 'This provider cannot do that.' },
  SANDBOX_NOT_FOUND: { status: 404, exit: 66, retryable: false, title: 'No sandbox has that id.' },
  SANDBOX_AMBIGUOUS: { status: 409, exit: 64, retryable: false, title: 'Several sandboxes match that prefix.' },
  SANDBOX_LOST: {
    status: 410,
    exit: 70,
    retryable: false,
    title: 'The sandbox is gone and Sublet did not destroy it.',
  },
  SESSION_NOT_FOUND: { status: 404, exit: 66, retryable: false, title: 'No session has that key.' },
  STATE_CONFLICT: {
    status: 409,
    exit: 70,
    retryable: true,
    title: 'The sandbox is in another state than the call needs.',
  },
  LEASE_HELD: { status: 409, exit: 75, retryable: true, title: 'Somebody else has the exclusive use of the sandbox.' },
  LEASE_LOST: { status: 410, exit: 70, retryable: false, title: 'The exclusive use of the sandbox has ended.' },
  POOL_EXHAUSTED: { status: 503, exit: 75, retryable: true, title: 'The pool had no sandbox to give in time.' },
  WRONG_HOST: {
    status: 421,
    exit: 69,
    retryable: false,
    title: 'The sandbox lives on another machine, or in another home.',
  },
  CREATE_FAILED: { status: 502, exit: 70, retryable: true, title: 'The sandbox could not be made.' },
  ROUTE_EXHAUSTED: {
    status: 503,
    exit: 75,
    retryable: true,
    title: 'No choice of an ordered list could make the sandbox.',
  },
  CREATE_TIMEOUT: { status: 504, exit: 75, retryable: true, title: 'The sandbox was not ready in time.' },
  NETWORK_NOT_ENFORCEABLE: {
    status: 409,
    exit: 69,
    retryable: false,
    title: 'The required network level cannot be enforced here.',
  },
  COMMAND_NOT_FOUND: { status: 404, exit: 66, retryable: false, title: 'No background command has that id.' },
  OUTPUT_LOST: {
    status: 410,
    exit: 74,
    retryable: false,
    title: 'Output was discarded before it was read.',
  },
  INTERPRETER_MISSING: {
    status: 422,
    exit: 69,
    retryable: false,
    title: 'The sandbox has no interpreter for that language.',
  },
  FILE_NOT_FOUND: { status: 404, exit: 66, retryable: false, title: 'No such file in the sandbox.' },
  FILE_FAILED: { status: 422, exit: 74, retryable: false, title: 'The file operation failed in the sandbox.' },
  STORE_BUSY: { status: 503, exit: 75, retryable: true, title: 'The store stayed locked by another process.' },
  STORE_CORRUPT: { status: 500, exit: 74, retryable: false, title: 'The store is damaged.' },
  STORE_TOO_NEW: { status: 500, exit: 78, retryable: false, title: 'The store was written by a newer version.' },
  STORE_FAILED: { status: 500, exit: 74, retryable: false, title: 'The store could not be read or written.' },
  SNAPSHOT_UNREADABLE: {
    status: 410,
    exit: 74,
    retryable: false,
    title: 'The snapshot is gone or damaged.',
  },
  CLOSED: { status: 410, exit: 70, retryable: false, title: 'The handle or the manager is closed.' },
  ABORTED: { status: 499, exit: 130, retryable: false, title: 'The caller gave up.' },
  INTERNAL: { status: 500, exit: 70, retryable: false, title: 'A fault in Sublet.' },
} as const satisfies Record<string, ErrorCodeInfo>;

export type ErrorCode = keyof typeof ERROR_CODES;

const BRAND: unique symbol = Symbol.for('sublet.error') as never;

export interface SubletErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** Where the table says that trying again may help, and this time it cannot. */
  readonly retryable?: false;
}

export class SubletError extends Error {
  override readonly name = 'SubletError';
  readonly [BRAND] = true;
  readonly code: ErrorCode;
  /** Facts for programs. Never a secret: details reach logs, events and the wire. */
  readonly details: Readonly<Record<string, unknown>>;
  /** What to do now, in one line. */
  readonly hint: string | undefined;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options: SubletErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
    this.hint = options.hint;
    this.retryable = options.retryable ?? ERROR_CODES[code].retryable;
  }

  /** Recognises errors of another copy of this package too. */
  static is(value: unknown, code?: ErrorCode): value is SubletError {
    return value instanceof Error && BRAND in value && (code === undefined || (value as SubletError).code === code);
  }
}

/** The error as ours: unchanged if it is, ABORTED if the signal says so, else wrapped as `fallback`. */
export function toSubletError(cause: unknown, fallback: ErrorCode, signal?: AbortSignal): SubletError {
  if (SubletError.is(cause)) return cause;
  if (signal?.aborted === true) return abortedError(signal);
  const message = cause instanceof Error ? cause.message : String(cause);
  return new SubletError(fallback, message, { cause });
}

export function abortedError(signal: AbortSignal): SubletError {
  if (SubletError.is(signal.reason)) return signal.reason;
  return new SubletError('ABORTED', 'The operation was aborted.', { cause: signal.reason });
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw abortedError(signal);
}
