/** Commands in one sandbox of Daytona: its exec answers when a program has ended, with both streams in one text. */
import type { Clock } from '../../core/clock.ts';
import { processCaller, type ShellCall } from '../../provider/posix/inside/called-process.ts';
import { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import { isNotFound, lostError } from '../../provider/service/service-errors.ts';
import type { DaytonaBox } from './daytona-api.ts';

export interface DaytonaCommandsOptions {
  readonly clock: Clock;
  readonly name: string;
  readonly box: DaytonaBox;
  readonly passesEnv: boolean;
  readonly workdir: string;
  /** As it is when a command begins. */
  env(): Readonly<Record<string, string>>;
}

export function createDaytonaCommands(options: DaytonaCommandsOptions): RemoteCommands {
  const { clock, name, box, passesEnv, workdir } = options;
  const call: ShellCall = (script, env) =>
    box.execute(script, env).catch((cause: unknown) => {
      throw isNotFound(cause) ? lostError('Daytona', name, cause) : cause;
    });
  const upload = async (file: string, bytes: Uint8Array): Promise<string> => {
    await box.upload(`/tmp/${file}`, bytes);
    return `/tmp/${file}`;
  };
  return new RemoteCommands({
    clock,
    workdir,
    get env() {
      return options.env();
    },
    exec: processCaller({ clock, call, passesEnv, upload }),
    openTerminal: box.openTerminal?.bind(box),
  });
}
