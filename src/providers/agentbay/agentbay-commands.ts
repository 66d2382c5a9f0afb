/** Commands in one session: its shell tool answers with text when a command has ended, and ends it after a while. */
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import { processCaller, type ShellCall } from '../../provider/posix/inside/called-process.ts';
import { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { isNotFound, lostError } from '../../provider/service/service-errors.ts';
import { type AgentBayApi, MAX_EXEC_MS } from './agentbay-api.ts';

export interface AgentBayCommandsOptions {
  readonly clock: Clock;
  readonly api: AgentBayApi;
  readonly name: string;
  readonly id: string;
  readonly workdir: string;
  /** As it is when a command begins. */
  env(): Readonly<Record<string, string>>;
}

export function createAgentBayCommands(options: AgentBayCommandsOptions): RemoteCommands {
  const { clock, api, name, id, workdir } = options;
  const call: ShellCall = (script, env) =>
    api.execute(id, script, env).catch(async (cause: unknown) => {
      throw isNotFound(cause) ? lostError('AgentBay', name, cause) : await refusedUse(api, id, cause);
    });
  return new RemoteCommands({
    clock,
    workdir,
    get env() {
      return options.env();
    },
    exec: processCaller({ clock, call, passesEnv: true, maxCallMs: MAX_EXEC_MS }),
  });
}

/** A session that is paused refuses every use, in words that are not settled. Its state is. */
async function refusedUse(api: AgentBayApi, id: string, cause: unknown): Promise<unknown> {
  if (!SubletError.is(cause, 'CREATE_FAILED')) return cause;
  const { status } = await api.get(id, AbortSignal.timeout(10_000)).catch(() => ({ status: 'UNKNOWN' }));
  const code = status.startsWith('PAUS') || status === 'RESUMING' ? 'STATE_CONFLICT' : 'PROVIDER_UNAVAILABLE';
  return new SubletError(code, `${cause.message} The session is ${status}.`, {
    cause,
    hint: 'Resume it, or try again.',
  });
}
