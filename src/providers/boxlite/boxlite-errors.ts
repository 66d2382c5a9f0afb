/** What BoxLite says, as our errors. The SDK throws texts, whose beginning tells the kind. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { serviceError, type ServiceWords } from '../../provider/service/service-errors.ts';
import { API_KEY } from './boxlite-config.ts';

const WORDS: ServiceWords = {
  title: 'BoxLite',
  keyName: API_KEY,
  statusPage: 'https://docs.boxlite.ai',
  quota: /quota|maximum|too many boxes|boxes per/i,
  conflict: /already exists|is (already )?(running|stopped|stopping)/i,
};

/** The first that fits. What is not here is a failure of the service. */
const STATUSES: readonly { readonly says: RegExp; readonly status: number }[] = [
  { says: /^configuration error: auth/i, status: 401 },
  { says: /^(box )?not found:/i, status: 404 },
  { says: /^(already exists:|.*already exists)/i, status: 409 },
  { says: /^(invalid state|stopped):/i, status: 409 },
  { says: /^resource exhausted:/i, status: 429 },
  { says: /^images error:/i, status: 422 },
  { says: /^(invalid argument|unsupported)/i, status: 400 },
  { says: /^storage error: Rootfs/i, status: 422 },
];
const LOCKED = /Another BoxliteRuntime is already using/;

/** An answer of the server that the SDK was not asked for. */
export class AnswerError extends Error {
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, message: string, headers: Headers) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** An error of the table for anything that BoxLite throws. */
export function toBoxliteError(cause: unknown, signal?: AbortSignal): SubletError {
  if (SubletError.is(cause) || cause instanceof AnswerError) return serviceError(WORDS, cause, cause, signal);
  const message = cause instanceof Error ? cause.message : String(cause);
  if (LOCKED.test(message)) return lockedError(cause);
  const status = STATUSES.find(({ says }) => says.test(message))?.status;
  return serviceError(WORDS, cause, { status, message }, signal);
}

export async function translated<T>(answer: Promise<T>, signal?: AbortSignal): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw toBoxliteError(cause, signal);
  });
}

/** Refuses what BoxLite cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec): void {
  if (spec.network === 'allowlist') {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', 'A box has all of the network or nothing of it.', {
      hint: 'Ask for the level "none" or "open".',
    });
  }
  if ((spec.mounts ?? []).length > 0 || spec.contextId !== undefined) {
    throw new SubletError('UNSUPPORTED', 'A box sees no directories of this machine and has no volumes here.', {
      hint: 'Copy the files in, or use an image that has them.',
    });
  }
  if (Object.values(spec.limits ?? {}).some((limit) => limit !== undefined)) {
    throw new SubletError('UNSUPPORTED', 'A box has a size, not limits.', {
      hint: 'Set boxlite.cpus, boxlite.memoryMiB and boxlite.diskGiB in the profile.',
    });
  }
}

function lockedError(cause: unknown): SubletError {
  return new SubletError('PROVIDER_UNAVAILABLE', 'Another process uses the VMs of this home.', {
    cause,
    hint: 'End it, name another directory in boxlite.home, or run "boxlite serve" and set boxlite.url for all.',
  });
}
