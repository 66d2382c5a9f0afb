/** Commands in one sandbox. */
import type { Sandbox } from 'e2b';
import type { Clock } from '../../core/clock.ts';
import type { SubletError } from '../../core/errors.ts';
import { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { isNotFound, lostError } from '../../provider/service/service-errors.ts';
import type { E2bApi } from './e2b-api.ts';
import { pausedError, toE2bError } from './e2b-errors.ts';
import { openE2bTerminal, startProcess } from './e2b-process.ts';

export interface E2bCommandsOptions {
  readonly api: E2bApi;
  readonly sandbox: Sandbox;
  readonly clock: Clock;
  readonly name: string;
  readonly workdir: string;
  /** As it is when a command begins. */
  env(): Readonly<Record<string, string>>;
}

const LOOK_MS = 10_000;
/** Connect's word for a service that is not there: the sandbox is gone, asleep, or the way to it is broken. */
const UNAVAILABLE = 14;

export function createE2bCommands(options: E2bCommandsOptions): RemoteCommands {
  const { clock, workdir, sandbox } = options;
  const explain = (cause: unknown): Promise<SubletError> => explainLoss(options, cause);
  return new RemoteCommands({
    clock,
    workdir,
    get env() {
      return options.env();
    },
    exec: (request) => startProcess(sandbox, request, explain),
    openTerminal: (request) => openE2bTerminal(sandbox, request, explain),
  });
}

/** The control plane knows whether it is the sandbox: only its word makes a loss. */
async function explainLoss({ api, sandbox, name }: E2bCommandsOptions, cause: unknown): Promise<SubletError> {
  const error = toE2bError(cause);
  const isDoubtful = (cause as { code?: unknown }).code === UNAVAILABLE || error.code === 'PROVIDER_UNAVAILABLE';
  if (!isDoubtful) return error;
  try {
    const { state } = await api.get(sandbox.sandboxId, AbortSignal.timeout(LOOK_MS));
    return state === 'paused' ? pausedError(name, cause) : error;
  } catch (answer) {
    return isNotFound(answer) ? lostError('E2B', name, cause) : error;
  }
}
