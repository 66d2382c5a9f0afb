/** A command in a sandbox that is made for it alone and gone when it ends. */
import type { SandboxOptions } from '../core/api.ts';
import type { CommandContext } from './command.ts';
import { startProgress } from './progress.ts';
import { type CommandRunner, runWithPipes, type SandboxedCommand } from './run-in-sandbox.ts';

/** Returns the exit status. */
export async function runAlone(
  wanted: SandboxOptions,
  work: SandboxedCommand,
  context: CommandContext,
): Promise<number> {
  const sublet = await context.sublet({ ...wanted, expectsOneCommand: true });
  const progress = startProgress(context.terminal, 'Starting a sandbox');
  let id: string | undefined;
  const onStart = (sandboxId: string): void => {
    id = sandboxId;
    progress.stop();
  };
  const runner: CommandRunner = {
    // Variables are the sandbox's own here.
    run: (command, options) => sublet.run(command, { ...options, ...wanted, onStart }),
    get sandboxId() {
      return id;
    },
  };
  try {
    return await runWithPipes(runner, work, context);
  } finally {
    progress.stop();
  }
}
