/** Failures of the host's file system and limits of the bare host, as our errors. */
import { SubletError, toSubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';

export function toLocalError(cause: unknown, signal: AbortSignal): SubletError {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new SubletError('PERMISSION_DENIED', (cause as Error).message, {
      cause,
      hint: 'Give this user the state directory, or set SUBLET_HOME to one that is theirs.',
    });
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new SubletError('QUOTA_EXCEEDED', (cause as Error).message, { cause, hint: 'Free some disk space.' });
  }
  return toSubletError(cause, 'PROVIDER_UNAVAILABLE', signal);
}

export function lostError(name: string): SubletError {
  return new SubletError('SANDBOX_LOST', `The directory of sandbox "${name}" is gone.`, { details: { name } });
}

/** Refuses what the bare host cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec): void {
  if (spec.network !== 'open') {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', `The provider "local" cannot enforce network "${spec.network}".`, {
      hint: 'Use the provider "namespace" or "docker", or ask for the network "open".',
    });
  }
  const limits = Object.values(spec.limits ?? {}).some((limit) => limit !== undefined);
  const asked = { image: spec.image !== undefined, limits, mounts: (spec.mounts ?? []).length > 0 };
  for (const [feature, isAsked] of Object.entries(asked)) {
    if (!isAsked) continue;
    throw new SubletError('UNSUPPORTED', `The provider "local" has no ${feature}.`, {
      hint: 'Use the provider "namespace" or "docker".',
    });
  }
}
