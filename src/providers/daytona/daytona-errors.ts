/** What Daytona answers, as our errors. Both ways of speaking to it fail in the same shape. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { serviceError, type ServiceWords } from '../../provider/service/service-errors.ts';
import { API_KEY } from './daytona-config.ts';

/** In the shape of the SDK's errors, for plain HTTP. */
export class ServiceError extends Error {
  readonly statusCode: number | undefined;
  readonly headers: unknown;

  constructor(message: string, statusCode?: number, headers?: unknown) {
    super(message);
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

const WORDS: ServiceWords = {
  title: 'Daytona',
  keyName: API_KEY,
  statusPage: 'https://status.daytona.io',
  quota: /limit exceeded|quota|maximum allowed|insufficient|suspended/i,
  conflict: /not (running|started)|is (stopped|paused|archived)|no ip address|state change in progress/i,
};

/** An error of the table for anything that a call to the service throws. */
export function toDaytonaError(cause: unknown): SubletError {
  const { message, statusCode: status, headers } = (cause ?? {}) as Partial<ServiceError>;
  return serviceError(WORDS, cause, { status, message, headers });
}

export async function translated<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw toDaytonaError(cause);
  });
}

export function deletingError(name: string): SubletError {
  return toDaytonaError(new ServiceError(`${name} is being deleted and not yet gone`));
}

/** Refuses what Daytona cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec): void {
  if (spec.network === 'allowlist') {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', 'The provider "daytona" does not enforce network "allowlist".', {
      hint: 'Ask for the network "none" or "open".',
    });
  }
  if ((spec.mounts ?? []).length > 0) {
    throw new SubletError('UNSUPPORTED', 'A sandbox of Daytona cannot see directories of this machine.', {
      hint: 'Copy the files in, or keep them in a volume (contextId).',
    });
  }
  if (Object.values(spec.limits ?? {}).some((limit) => limit !== undefined)) {
    throw new SubletError('UNSUPPORTED', 'Daytona sizes sandboxes by whole GiB and cores, not by limits.', {
      hint: 'Set daytona.cpu, daytona.memoryGiB and daytona.diskGiB in the profile.',
    });
  }
}
