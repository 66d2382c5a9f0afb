/** What LangSmith answers, as our errors. Its own error types do not leave this folder. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { type ServiceAnswer, serviceError, type ServiceWords } from '../../provider/service/service-errors.ts';
import { API_KEY } from './langsmith-config.ts';

export const TITLE = 'LangSmith';

const WORDS: ServiceWords = {
  title: TITLE,
  keyName: API_KEY,
  statusPage: 'https://status.smith.langchain.com',
  quota: /quota|limit (exceeded|reached)|maximum number/i,
  conflict: /not ready|already (running|stopped)/i,
};

/** The status of what the client of a sandbox throws, by what it calls it: it tells no more. */
const STATUS_BY_NAME: Readonly<Record<string, number>> = {
  LangSmithSandboxAuthenticationError: 401,
  LangSmithResourceNotFoundError: 404,
  LangSmithQuotaExceededError: 429,
  LangSmithSandboxNotReadyError: 409,
  LangSmithValidationError: 422,
};

const BROKEN: readonly string[] = ['LangSmithSandboxConnectionError', 'LangSmithSandboxServerReloadError'];
/** The refusal of a WebSocket names its address, which says nothing, and its status. */
const REFUSED = /^WebSocket upgrade to \S+ rejected by server \(HTTP (\d+)\)/;

/** What either client of the SDK throws. */
interface SdkError {
  readonly name?: string;
  readonly message?: string;
  readonly status?: number;
  readonly headers?: unknown;
  readonly error?: { readonly detail?: string | { readonly message?: string } };
  readonly retryAfterSeconds?: number;
}

/** An error of the table for anything that a call of the SDK throws. */
export function toLangsmithError(cause: unknown, signal?: AbortSignal): SubletError {
  return serviceError(WORDS, cause, answerOf(cause ?? {}), signal);
}

export async function translated<T>(answer: Promise<T>, signal?: AbortSignal): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw toLangsmithError(cause, signal);
  });
}

/** The connection broke before it was told whether a command has begun. */
export function isBroken(cause: unknown): boolean {
  const { name = '', message = '' } = (cause ?? {}) as SdkError;
  return BROKEN.includes(name) && REFUSED.exec(message) === null;
}

/** Whoever spoke to it would wake it. */
export function restingError(name: string, cause?: unknown): SubletError {
  return new SubletError('STATE_CONFLICT', `The sandbox "${name}" is at rest.`, {
    cause,
    details: { name },
    hint: 'Start it before it is used.',
  });
}

/** Refuses what LangSmith cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec): void {
  if (spec.network === 'allowlist') {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', 'The provider "langsmith" does not enforce network "allowlist".', {
      hint: 'Ask for the network "none", or "open": the web, and nothing else.',
    });
  }
  if ((spec.mounts ?? []).length > 0 || spec.contextId !== undefined) {
    throw new SubletError(
      'UNSUPPORTED',
      'A sandbox of LangSmith sees no directory of this machine and has no volumes.',
      {
        hint: 'Copy the files in, or start from a snapshot that has them.',
      },
    );
  }
  if (Object.values(spec.limits ?? {}).some((limit) => limit !== undefined)) {
    throw new SubletError('UNSUPPORTED', 'LangSmith has sizes, not limits.', {
      hint: 'Set langsmith.vcpus, langsmith.memoryGiB and langsmith.diskGiB in the profile.',
    });
  }
}

function answerOf(error: SdkError): ServiceAnswer {
  const detail = error.error?.detail;
  const message = (typeof detail === 'string' ? detail : detail?.message) ?? error.message;
  const { retryAfterSeconds } = error;
  const headers = retryAfterSeconds === undefined ? error.headers : { 'retry-after': String(retryAfterSeconds) };
  const refused = REFUSED.exec(message ?? '')?.[1];
  if (refused !== undefined) return { status: Number(refused), message: `refused with ${refused}`, headers };
  return { status: error.status ?? STATUS_BY_NAME[error.name ?? ''], message, headers };
}
