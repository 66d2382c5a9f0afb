/** Commands in one box: its exec gives text, and keeps what nobody reads. */
import type { Clock } from '../../core/clock.ts';
import { processCaller, type ShellCall } from '../../provider/posix/inside/called-process.ts';
import { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { isNotFound, lostError } from '../../provider/service/service-errors.ts';
import { type BoxliteApi, MAX_CALL_MS } from './boxlite-api.ts';

export interface BoxliteCommandsOptions {
  readonly clock: Clock;
  readonly api: BoxliteApi;
  readonly name: string;
  readonly id: string;
  readonly workdir: string;
  /** As it is when a command begins. */
  env(): Readonly<Record<string, string>>;
}

export function createBoxliteCommands(options: BoxliteCommandsOptions): RemoteCommands {
  const { clock, api, name, id, workdir } = options;
  const call: ShellCall = (script, env) =>
    api.execute(id, script, env).catch((cause: unknown) => {
      throw isNotFound(cause) ? lostError('BoxLite', name, cause) : cause;
    });
  return new RemoteCommands({
    clock,
    workdir,
    get env() {
      return options.env();
    },
    exec: processCaller({ clock, call, passesEnv: true, maxCallMs: MAX_CALL_MS }),
  });
}
