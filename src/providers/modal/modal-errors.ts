/** What Modal answers, as our errors. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { serviceError, type ServiceWords } from '../../provider/service/service-errors.ts';
import { TOKEN_ID, TOKEN_SECRET } from './modal-config.ts';

export const TITLE = 'Modal';

const WORDS: ServiceWords = {
  title: TITLE,
  keyName: `${TOKEN_ID} and ${TOKEN_SECRET}`,
  statusPage: 'https://status.modal.com',
  quota: /quota|billing|spend|insufficient|limit (?:of|exceeded|reached)|too many (?:sandboxes|containers)/i,
  conflict: /not running|invalid state/i,
};

/** What HTTP has for the statuses of gRPC. Those that are not here say nothing of what was done. */
const HTTP_OF_CODE: Readonly<Record<number, number>> = {
  3: 400, // INVALID_ARGUMENT
  5: 404, // NOT_FOUND
  6: 409, // ALREADY_EXISTS
  7: 403, // PERMISSION_DENIED
  8: 429, // RESOURCE_EXHAUSTED
  9: 409, // FAILED_PRECONDITION
  10: 409, // ABORTED
  11: 400, // OUT_OF_RANGE
  16: 401, // UNAUTHENTICATED
};

/** The SDK's own errors have a name and no code. */
const HTTP_OF_NAME: Readonly<Record<string, number>> = {
  NotFoundError: 404,
  AlreadyExistsError: 409,
  ConflictError: 409,
  InvalidError: 400,
  ResourceExhaustedError: 429,
};

/** The other wordings of "gone": of a sandbox that has ended, and of an image. */
const OVER = /has (?:already )?(?:finished|terminated)|could not find image/i;
const BUILD_FAILED = /^Image build for/;

/** An error of the table for anything that a call of the SDK throws. `retryAfterMs` is what the refusal said of time. */
export function toModalError(cause: unknown, signal?: AbortSignal, retryAfterMs?: number): SubletError {
  const { name = '', message = String(cause), details, code } = (cause ?? {}) as Partial<GrpcError>;
  const words = details === undefined || details === '' ? message : details;
  const headers = retryAfterMs === undefined ? {} : { 'retry-after': String(retryAfterMs / 1000) };
  return serviceError(WORDS, cause, { status: statusOf(code, name, words), message: words, headers }, signal);
}

interface GrpcError {
  readonly name: string;
  readonly message: string;
  readonly details: string;
  readonly code: number;
}

function statusOf(code: number | undefined, name: string, words: string): number | undefined {
  if (BUILD_FAILED.test(words)) return 400;
  const status = code === undefined ? HTTP_OF_NAME[name] : HTTP_OF_CODE[code];
  return status === 409 && OVER.test(words) ? 404 : status;
}

/** Refuses what Modal cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec): void {
  if (spec.network === 'allowlist') {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', 'The provider "modal" cannot enforce network "allowlist".', {
      hint: 'It can enforce: open, none.',
    });
  }
  if ((spec.mounts ?? []).length > 0 || spec.contextId !== undefined) {
    throw new SubletError('UNSUPPORTED', 'A sandbox of Modal sees no directories of this machine and no volumes.', {
      hint: 'Copy the files in, or start from an image that has them.',
    });
  }
  if (Object.values(spec.limits ?? {}).some((limit) => limit !== undefined)) {
    throw new SubletError('UNSUPPORTED', 'Limits are not passed on to Modal.', {
      hint: 'Set modal.cpu and modal.memoryMb in the profile.',
    });
  }
}
