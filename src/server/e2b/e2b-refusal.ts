/** What the service says when it does not do as it was asked: a status and words, in either of its two forms. */
import { ERROR_CODES, SubletError } from '../../core/errors.ts';

/** Codes of the Connect protocol, with the HTTP status that a unary answer has for each. */
const CONNECT_STATUS = {
  invalid_argument: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  failed_precondition: 412,
  resource_exhausted: 429,
  internal: 500,
  unimplemented: 501,
  unavailable: 503,
  deadline_exceeded: 504,
} as const;

export type ConnectCode = keyof typeof CONNECT_STATUS;

export class E2bRefusal extends Error {
  override readonly name = 'E2bRefusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  get connectCode(): ConnectCode {
    const found = Object.entries(CONNECT_STATUS).find(([, status]) => status === this.status);
    return (found?.[0] as ConnectCode | undefined) ?? (this.status >= 500 ? 'unavailable' : 'failed_precondition');
  }

  static of(code: ConnectCode, message: string): E2bRefusal {
    return new E2bRefusal(CONNECT_STATUS[code], message);
  }
}

/** Any failure as a refusal. Words of ours are for users; those of anything else stay here. */
export function toRefusal(cause: unknown): E2bRefusal {
  if (cause instanceof E2bRefusal) return cause;
  if (!SubletError.is(cause)) return new E2bRefusal(500, 'The request could not be served.');
  const message = cause.hint === undefined ? cause.message : `${cause.message} ${cause.hint}`;
  switch (cause.code) {
    case 'FILE_FAILED':
      return new E2bRefusal(/no space left/i.test(cause.message) ? 507 : 400, message);
    case 'SANDBOX_LOST':
    case 'CLOSED':
      return new E2bRefusal(502, message);
    case 'UNSUPPORTED':
    case 'NETWORK_NOT_ENFORCEABLE':
      return new E2bRefusal(400, message);
    default:
      return new E2bRefusal(ERROR_CODES[cause.code].status, message);
  }
}
