/** Commands in one sandbox: each call of the service is a script, whose output is text. */
import type { Clock } from '../../core/clock.ts';
import { processCaller, type ShellCall } from '../../provider/posix/inside/called-process.ts';
import { RemoteCommands } from '../../provider/posix/inside/remote-commands.ts';
import type { BoxShell } from './box-shell.ts';
import { openLangsmithTerminal } from './langsmith-terminal.ts';

export interface LangsmithCommandsOptions {
  readonly clock: Clock;
  readonly shell: BoxShell;
  readonly workdir: string;
  readonly hasTerminals: boolean;
  /** As it is when a command begins. */
  env(): Readonly<Record<string, string>>;
}

export function createLangsmithCommands(options: LangsmithCommandsOptions): RemoteCommands {
  const { clock, shell, workdir, hasTerminals } = options;
  const call: ShellCall = (script, env) => shell.call(script, env);
  const upload = async (file: string, bytes: Uint8Array): Promise<string> => {
    await shell.upload(`/tmp/${file}`, bytes);
    return `/tmp/${file}`;
  };
  return new RemoteCommands({
    clock,
    workdir,
    get env() {
      return options.env();
    },
    exec: processCaller({ clock, call, passesEnv: true, upload }),
    openTerminal: hasTerminals ? (request) => openLangsmithTerminal(shell, request) : undefined,
  });
}
