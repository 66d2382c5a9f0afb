/** What AgentBay answers, as our errors. Its own words are in a code; the status says little, and may be 200. */
import { SubletError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../provider/provider.ts';
import { serviceError, type ServiceWords } from '../../provider/service/service-errors.ts';
import { type AgentBayConfig, API_KEY } from './agentbay-config.ts';

const WORDS: ServiceWords = {
  title: 'AgentBay',
  keyName: API_KEY,
  statusPage: 'https://status.alibabacloud.com',
  quota: /quota|insufficient|(limit|maximum)[^.]*(exceeded|reached)|exceeds?[^.]*(limit|maximum)/i,
  conflict: /conflict|incorrect\S*status|is (paused|pausing|resuming|deleting)|not running/i,
};

const CODES: readonly { readonly code: RegExp; readonly status: number }[] = [
  { code: /^(NOT_LOGIN|InvalidApiKey|InvalidAccessKeyId|Unauthorized)/i, status: 401 },
  { code: /^InvalidMcpSession\.NotFound$/i, status: 404 },
  { code: /^(Throttling|FlowControl)/i, status: 429 },
  { code: /^(NoPermission|Forbidden)/i, status: 403 },
];
const NO_SESSION = /\[McpSession\] is not found|session[^.]*(not found|does not exist)/i;
/** The account's plan does not include it. */
const NO_BENEFIT = 'BenefitLevel.NotSupport';

export interface Refusal {
  readonly httpStatus: number;
  readonly code: string;
  readonly message: string;
  readonly headers: Headers;
}

/** An answer that is a refusal. */
export class RefusedError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Headers;

  constructor({ httpStatus, code, message, headers }: Refusal) {
    super(code === '' ? message : `${message} (${code})`);
    this.code = code;
    this.headers = headers;
    this.status = statusOf(code, message, httpStatus);
  }
}

/** An error of the table for anything that asking throws. */
export function toAgentBayError(cause: unknown, signal?: AbortSignal): SubletError {
  if (cause instanceof RefusedError && cause.code.includes(NO_BENEFIT)) return benefitError(cause);
  const answer = cause instanceof RefusedError ? cause : { message: reasonOf(cause) };
  return serviceError(WORDS, cause, answer, signal);
}

/** Refuses what AgentBay cannot give, before anything is made. */
export function assertPossible(spec: SandboxSpec, config: AgentBayConfig): void {
  if (spec.network === 'allowlist' || (spec.network === 'none' && config.noNetworkPolicy === undefined)) {
    throw new SubletError('NETWORK_NOT_ENFORCEABLE', `AgentBay has no network level "${spec.network}" by itself.`, {
      hint: 'Make a policy that allows no network and name it in agentbay.noNetworkPolicy, for the level "none".',
    });
  }
  if ((spec.mounts ?? []).length > 0) {
    throw new SubletError('UNSUPPORTED', 'A session of AgentBay sees no directories of this machine.', {
      hint: 'Copy the files in, or keep them in a context: set contextId.',
    });
  }
  if (Object.values(spec.limits ?? {}).some((limit) => limit !== undefined)) {
    throw new SubletError('UNSUPPORTED', 'A session of AgentBay is as large as its image says.', {
      hint: 'Leave the limits out, or choose another image.',
    });
  }
}

export function isUnsupported(error: unknown): error is SubletError {
  return SubletError.is(error, 'UNSUPPORTED');
}

function statusOf(code: string, message: string, httpStatus: number): number {
  const known = CODES.find((each) => each.code.test(code))?.status;
  if (known !== undefined) return known;
  if (NO_SESSION.test(message)) return 404;
  // Something else is not there: an action, a host, an image. That says nothing about a session.
  if (httpStatus === 404 || httpStatus === 410) return 502;
  return httpStatus < 400 ? 400 : httpStatus;
}

function benefitError(cause: RefusedError): SubletError {
  return new SubletError('UNSUPPORTED', `AgentBay: ${cause.message}`, {
    cause,
    hint: 'The account’s benefit level does not include it. Raise the level; without pause, set agentbay.noPause.',
  });
}

/** fetch says why in the cause. */
function reasonOf(cause: unknown): string {
  const { message, cause: reason } = cause as {
    readonly message?: string;
    readonly cause?: { readonly message?: string };
  };
  return reason?.message === undefined || reason.message === ''
    ? (message ?? String(cause))
    : `${message}: ${reason.message}`;
}
