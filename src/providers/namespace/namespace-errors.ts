/** What the kernel and the tools said, as our errors. */
import { SubletError, toSubletError } from '../../core/errors.ts';
import { HOST_UID } from './layout.ts';
import { lacksSandboxId, type Privileges } from './privileges.ts';

const STEPS: Readonly<Record<number, string>> = {
  90: 'mounting the sandbox’s file systems',
  91: 'entering the new root',
  92: 'setting its limits',
  94: 'joining the control groups',
};

export const ALTERNATIVES = 'Run `sublet doctor` for what this machine allows; `sublet providers` lists the others.';

export function setupError(exitCode: number | null, messages: string): SubletError {
  const said = messages.trim();
  // What unshare says when it cannot end by the signal that ended its child.
  if (/sigprocmask unblock failed/u.test(said)) {
    return new SubletError('CREATE_FAILED', 'The sandbox could not be made: its first process was killed.', {
      hint: 'Try again. If it stays so, the machine may be out of memory, or something else destroys the sandbox.',
    });
  }
  if (
    /unshare.*(Operation not permitted|No space left|Invalid argument)/su.test(said) &&
    (exitCode === null || exitCode < 90)
  ) {
    return new SubletError('PROVIDER_UNUSABLE', `This machine does not let this user make namespaces: ${said}`, {
      hint: `Allow it with \`sysctl -w kernel.unprivileged_userns_clone=1\` or \`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\` or \`sysctl -w user.max_user_namespaces=15000\`, whichever is set against it. ${ALTERNATIVES}`,
    });
  }
  if (/ENOENT/u.test(said)) {
    return new SubletError('PROVIDER_UNUSABLE', `A program of util-linux is missing: ${said}`, {
      hint: 'Install util-linux (setpriv, unshare, nsenter, mount).',
    });
  }
  if (/\bsh\b.*No such file/su.test(said)) {
    return new SubletError('CONFIG_INVALID', `The image has no working sh: ${said}`, {
      hint: 'An image needs sh and cat; busybox has both.',
    });
  }
  const step = exitCode === null ? undefined : STEPS[exitCode];
  return new SubletError(
    'CREATE_FAILED',
    `The sandbox could not be made${step === undefined ? '' : `: ${step} failed`}${said === '' ? '' : `: ${said}`}.`,
    {
      details: { exitCode },
      hint: ALTERNATIVES,
    },
  );
}

/** What the kernel refuses for want of an id it calls an invalid argument. */
export function createError(cause: unknown, signal: AbortSignal, privileges: Privileges): SubletError {
  if (!SubletError.is(cause) && lacksSandboxId(privileges))
    return new SubletError('PROVIDER_UNUSABLE', NO_SANDBOX_ID.message, { cause, hint: NO_SANDBOX_ID.hint });
  return toSubletError(cause, 'CREATE_FAILED', signal);
}

/** For a create and for the probe alike. */
export const NO_SANDBOX_ID: { readonly message: string; readonly hint: string } = {
  message: `This process is root of a user namespace without the id ${HOST_UID}, which sandboxes run as.`,
  hint: 'Run it as root of the machine, or as an ordinary user, outside of `unshare --map-root-user` and of rootless containers. `sublet providers` lists the others.',
};

export function lostError(name: string): SubletError {
  return new SubletError('SANDBOX_LOST', `The sandbox ${name} is not running.`, {
    hint: 'Its processes were ended from outside or the machine was restarted; its files may still be there.',
  });
}

export function notFoundError(name: string): SubletError {
  return new SubletError('SANDBOX_NOT_FOUND', `There is no sandbox ${name} on this machine.`, {
    hint: 'See `sublet ls --all`.',
  });
}

export function unreadableError(path: string, cause: unknown): SubletError {
  return new SubletError('PROVIDER_UNAVAILABLE', `The record ${path} cannot be read: ${(cause as Error).message}.`, {
    cause,
    hint: 'Try again. If it is damaged, end what runs in the sandbox and remove the record’s directory.',
  });
}

export function noAllowlistError(): SubletError {
  return new SubletError(
    'NETWORK_NOT_ENFORCEABLE',
    'The namespace provider has no allow list: a network is none or open.',
    {
      hint: 'Use --network none, or a provider with network-allowlist (see `sublet providers`).',
    },
  );
}

export function weakerNetworkError(name: string, from: string, to: string): SubletError {
  return new SubletError(
    'NETWORK_NOT_ENFORCEABLE',
    `The network of ${name} is ${from} and cannot become ${to} again.`,
    { hint: 'Make a new sandbox.' },
  );
}

export function noStopError(): SubletError {
  return new SubletError(
    'UNSUPPORTED',
    'A sandbox with a disk limit keeps its disk in memory, which a stop would lose.',
    { hint: 'Pause it instead.' },
  );
}
