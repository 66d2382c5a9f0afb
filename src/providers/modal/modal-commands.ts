/** Commands in one sandbox of Modal. */
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { isNotFound, lostError } from '../../provider/service/service-errors.ts';
import type { KnownSandbox, ModalApi } from './modal-api.ts';
import { TITLE, toModalError } from './modal-errors.ts';
import { type ProcessPlace, startProcess } from './modal-process.ts';
import { openModalTerminal } from './modal-terminal.ts';
import { isOver } from './sandbox-facts.ts';

export interface ModalCommandsOptions {
  readonly clock: Clock;
  readonly api: ModalApi;
  readonly name: string;
  /** Modal's own. */
  readonly id: string;
  readonly workdir: string;
  /** Aborts when this process ends the sandbox. */
  readonly left: AbortSignal;
  /** As it is when a command begins. */
  env(): Readonly<Record<string, string>>;
  /** A command begins. */
  used?(): void;
  /** What runs or rests under the name now, if anything. */
  look(): Promise<KnownSandbox | undefined>;
}

/** The SDK takes no more characters than this in all words of a program; some are ours. */
const MAX_WORDS_BYTES = 60_000;

export function createModalCommands(options: ModalCommandsOptions): RemoteCommands {
  const { clock, workdir, api, id, left } = options;
  const explain = (cause: unknown): Promise<SubletError> => explainLoss(options, cause);
  const place = async (): Promise<ProcessPlace> => {
    options.used?.();
    return { clock, sandbox: await api.sandbox(id), left, explain };
  };
  return new RemoteCommands({
    clock,
    workdir,
    get env() {
      return options.env();
    },
    maxWordsBytes: MAX_WORDS_BYTES,
    exec: async (request) => startProcess(await place(), request),
    openTerminal: async (request) => openModalTerminal(await place(), request),
  });
}

/** Whoever does not answer may only be out of reach, and what is over may be stopped: the control plane knows. */
async function explainLoss(options: ModalCommandsOptions, cause: unknown): Promise<SubletError> {
  const { id, name, left } = options;
  const error = toModalError(cause);
  const lost = lostError(TITLE, name, cause);
  if (left.aborted) return lost;
  if (!isNotFound(error) && error.code !== 'PROVIDER_UNAVAILABLE') return error;
  const found = await options.look().catch(() => 'unknown' as const);
  if (found === 'unknown') return isNotFound(error) ? lost : error;
  if (found === undefined) return lost;
  if (isOver(found) || found.id !== id) return movedError(name, cause);
  return isNotFound(error) ? lost : error;
}

function movedError(name: string, cause: unknown): SubletError {
  return new SubletError('STATE_CONFLICT', `The sandbox "${name}" was stopped.`, {
    cause,
    details: { name },
    hint: 'Start it, and attach to it again.',
  });
}
