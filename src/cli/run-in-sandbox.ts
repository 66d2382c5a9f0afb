/** Runs one command in a sandbox with this process's streams: a terminal when there is one at both ends, else pipes. */
import type { AgentHandle } from '../core/api.ts';
import type { Command, CommandExit } from '../core/commands.ts';
import type { CommandContext } from './command.ts';
import { toExitStatus } from './exit-status.ts';
import type { Terminal } from './terminal.ts';

export interface SandboxedCommand {
  readonly command: Command;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs?: number | undefined;
  /** Print the result as an object instead of passing the output on. */
  readonly json: boolean;
}

/** Returns the exit status. */
export async function runInSandbox(
  sandbox: AgentHandle,
  work: SandboxedCommand,
  context: CommandContext,
): Promise<number> {
  const { terminal, signal } = context;
  const { command, json, ...options } = work;
  if (terminal.isInteractive && !json) {
    const { runOnTerminal } = await import('./run-on-terminal.ts');
    return reportExit(await runOnTerminal(sandbox, work, context), terminal);
  }
  const stdin = terminal.isStdinPiped ? terminal.stdin : undefined;
  if (json) {
    const { toJsonLine } = await import('./render/json-lines.ts');
    const result = await sandbox.commands.run(command, { ...options, stdin, signal });
    await terminal.write('stdout', toJsonLine({ sandboxId: sandbox.sandboxId, ...result }));
    return toExitStatus(result).status;
  }
  const result = await sandbox.commands.run(command, {
    ...options,
    stdin,
    signal,
    // It goes on as it comes; keeping it as well would only cost memory.
    maxOutputBytes: 0,
    onStdout: (chunk) => terminal.write('stdout', chunk),
    onStderr: (chunk) => terminal.write('stderr', chunk),
  });
  return reportExit(result, terminal);
}

async function reportExit(exit: CommandExit, terminal: Terminal): Promise<number> {
  const { status, message } = toExitStatus(exit);
  if (message !== undefined) await terminal.write('stderr', `sublet: ${message}\n`);
  return status;
}
