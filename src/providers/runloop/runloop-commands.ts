/** Commands in one devbox: its exec takes a command line alone, and answers when that has ended. */
import type { Clock } from '../../core/clock.ts';
import { processCaller, type ShellCall } from '../../provider/posix/inside/called-process.ts';
import { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { isNotFound, lostError } from '../../provider/service/service-errors.ts';
import type { RunloopApi } from './runloop-api.ts';

export interface RunloopCommandsOptions {
  readonly clock: Clock;
  readonly api: RunloopApi;
  readonly name: string;
  readonly id: string;
  readonly workdir: string;
  /** As it is when a command begins. */
  env(): Readonly<Record<string, string>>;
}

export function createRunloopCommands(options: RunloopCommandsOptions): RemoteCommands {
  const { clock, api, name, id, workdir } = options;
  const call: ShellCall = (script) =>
    api.execute(id, script).catch((cause: unknown) => {
      throw isNotFound(cause) ? lostError('Runloop', name, cause) : cause;
    });
  // Its paths begin at the home of the user.
  const upload = async (file: string, bytes: Uint8Array): Promise<string> => {
    await api.upload(id, `.${file}`, bytes);
    return `"$HOME"/.${file}`;
  };
  return new RemoteCommands({
    clock,
    workdir,
    get env() {
      return options.env();
    },
    exec: processCaller({ clock, call, passesEnv: false, upload }),
  });
}
