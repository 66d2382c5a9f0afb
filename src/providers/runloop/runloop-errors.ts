/** What Runloop answers, as our errors. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { type ServiceAnswer, serviceError, type ServiceWords } from '../../provider/service/service-errors.ts';
import { API_KEY, type RunloopConfig } from './runloop-config.ts';

const WORDS: ServiceWords = {
  title: 'Runloop',
  keyName: API_KEY,
  statusPage: 'https://status.runloop.ai',
  quota: /quota|limit (exceeded|reached)|maximum number|insufficient/i,
  conflict: /not running|is suspended|invalid state/i,
};

/** An error of the table for anything that a call of the SDK throws. */
export function toRunloopError(cause: unknown, signal?: AbortSignal): SubletError {
  return serviceError(WORDS, cause, cause as ServiceAnswer, signal);
}

export async function translated<T>(answer: Promise<T>, signal?: AbortSignal): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw toRunloopError(cause, signal);
  });
}

/** Refuses what Runloop cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec, config: RunloopConfig): void {
  if (spec.network === 'allowlist' || (spec.network === 'none' && config.noNetworkPolicy === undefined)) {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', `Runloop has no network level "${spec.network}" by itself.`, {
      hint: 'Make a network policy that allows nothing and name it in runloop.noNetworkPolicy, for the level "none".',
    });
  }
  if ((spec.mounts ?? []).length > 0 || spec.contextId !== undefined) {
    throw new SubletError('UNSUPPORTED', 'A devbox sees no directories of this machine and has no volumes.', {
      hint: 'Copy the files in, or start from a blueprint or a snapshot that has them.',
    });
  }
  if (Object.values(spec.limits ?? {}).some((limit) => limit !== undefined)) {
    throw new SubletError('UNSUPPORTED', 'Runloop has sizes, not limits.', {
      hint: 'Set runloop.size in the profile.',
    });
  }
}
