/** What the engine answered, as our errors. The status it gave is in `details.status`. */
import { abortedError, type ErrorCode, SubletError } from '../../core/errors.ts';

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'CONFIG_INVALID',
  401: 'AUTH_FAILED',
  403: 'PERMISSION_DENIED',
  404: 'SANDBOX_NOT_FOUND',
  409: 'STATE_CONFLICT',
  429: 'RATE_LIMITED',
  501: 'UNSUPPORTED',
};

const HINTS: Partial<Record<ErrorCode, string>> = {
  AUTH_FAILED: 'Log in with docker login, or pull the image by hand.',
  QUOTA_EXCEEDED: 'Free space where the engine keeps its data: docker system prune, or docker system df to see.',
  PROVIDER_UNAVAILABLE: 'See whether the engine works: docker info. Then try again.',
  STATE_CONFLICT: 'See its state with docker ps -a, then resume or start the sandbox.',
};

/** Podman's way to say 409. */
const WRONG_STATE = /container state improper|is not running|not in a running state|is paused/i;
const FULL = /no space left on device|disk quota exceeded/i;

/** An answer that is not a success. `what` was being done. */
export function answerError(what: string, status: number, message: string): SubletError {
  const code = FULL.test(message)
    ? 'QUOTA_EXCEEDED'
    : (BY_STATUS[status] ?? (WRONG_STATE.test(message) ? 'STATE_CONFLICT' : 'PROVIDER_UNAVAILABLE'));
  return new SubletError(code, `The engine could not ${what}: ${message.trim() || `status ${status}`}`, {
    details: { status },
    hint: HINTS[code],
  });
}

/** No answer: the engine is not there, may not be spoken to, or went away. */
export function connectionError(cause: unknown, address: string, signal?: AbortSignal): SubletError {
  if (SubletError.is(cause)) return cause;
  if (signal?.aborted === true) return abortedError(signal);
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') {
    return new SubletError('PERMISSION_DENIED', `This user may not speak to the engine at ${address}.`, {
      cause,
      hint: 'Add yourself to the docker group: sudo usermod -aG docker "$USER", then log in again. Or use a rootless engine.',
    });
  }
  return new SubletError(
    'PROVIDER_UNAVAILABLE',
    `The engine at ${address} did not answer: ${reasonOf(code, message)}`,
    {
      cause,
      hint: HINTS.PROVIDER_UNAVAILABLE,
    },
  );
}

export function silentError(what: string, address: string, waitedMs: number): SubletError {
  return new SubletError(
    'PROVIDER_UNAVAILABLE',
    `The engine at ${address} has not answered for ${Math.round(waitedMs / 1000)} s; it was to ${what}.`,
    { hint: HINTS.PROVIDER_UNAVAILABLE },
  );
}

export function statusOf(error: unknown): number | undefined {
  return SubletError.is(error) ? (error.details['status'] as number | undefined) : undefined;
}

export function isGone(error: unknown): boolean {
  return statusOf(error) === 404;
}

export function isConflict(error: unknown): boolean {
  return SubletError.is(error, 'STATE_CONFLICT') && statusOf(error) !== undefined;
}

export function notFoundError(name: string): SubletError {
  return new SubletError('SANDBOX_NOT_FOUND', `There is no container ${name} of ours.`, { details: { name } });
}

export function lostError(name: string, cause?: unknown): SubletError {
  return new SubletError('SANDBOX_LOST', `The container ${name} is gone.`, {
    cause,
    details: { name },
    hint: 'It was removed by somebody else, or its engine lost it. Create the sandbox again.',
  });
}

export function notRunningError(name: string, cause?: unknown): SubletError {
  return new SubletError('STATE_CONFLICT', `The container ${name} does not run.`, {
    cause,
    details: { name },
    hint: 'Resume or start the sandbox, then try again.',
  });
}

/** A command is frozen half-way into the container, and this process may not thaw it. */
export function stuckError(id: string, cause?: unknown): SubletError {
  return new SubletError(
    'PROVIDER_UNAVAILABLE',
    `A command got half-way into the container ${id} as it was put to sleep, and the engine hangs with it.`,
    {
      cause,
      details: { id },
      hint: 'As root, write THAWED to freezer.state of its control group, or 0 to cgroup.freeze. Then destroy the sandbox.',
    },
  );
}

export function noShellError(image: string): SubletError {
  return new SubletError('UNSUPPORTED', `The image ${image} has no sh, which a command given as text needs.`, {
    hint: 'Give the command as an array of words, whose first is a program in the image; or choose an image with a shell.',
  });
}

export function foreignNameError(name: string): SubletError {
  return new SubletError('CREATE_FAILED', `A container called ${name} exists and was not made by Sublet.`, {
    details: { name },
    hint: `Look at it with docker inspect ${name}; rename or remove it if nobody needs it.`,
  });
}

export function noAllowlistError(): SubletError {
  return new SubletError('NETWORK_NOT_ENFORCEABLE', 'The provider "docker" cannot enforce the network "allowlist".', {
    hint: 'Ask for "none" or "open".',
  });
}

function reasonOf(code: string | undefined, message: string): string {
  if (code === 'ENOENT') return 'there is no such socket';
  if (code === 'ECONNREFUSED') return 'nobody listens there';
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'it closed the connection';
  return message;
}
