/** Runs one command in a sandbox with this process's streams: a terminal when there is one at both ends, else pipes. */
import type { AgentHandle } from '../core/api.ts';
import type { Command, CommandExit, CommandResult, RunOptions } from '../core/commands.ts';
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

/** Where the command is run, and the sandbox's id once it has begun. */
export interface CommandRunner {
  run(command: Command, options: RunOptions): Promise<CommandResult>;
  readonly sandboxId: string | undefined;
}

/** Returns the exit status. */
export async function runInSandbox(
  sandbox: AgentHandle,
  work: SandboxedCommand,
  context: CommandContext,
): Promise<number> {
  if (!wantsTerminal(work, context)) {
    const run: CommandRunner['run'] = (command, options) => sandbox.commands.run(command, options);
    return runWithPipes({ run, sandboxId: sandbox.sandboxId }, work, context);
  }
  const { runOnTerminal } = await import('./run-on-terminal.ts');
  return reportExit(await runOnTerminal(sandbox, work, context), context.terminal);
}

export function wantsTerminal(work: SandboxedCommand, { terminal }: CommandContext): boolean {
  return terminal.isInteractive && !work.json;
}

/** Returns the exit status. */
export async function runWithPipes(
  runner: CommandRunner,
  work: SandboxedCommand,
  { terminal, signal }: CommandContext,
): Promise<number> {
  const { command, json, ...options } = work;
  const stdin = terminal.isStdinPiped ? terminal.stdin : undefined;
  if (json) {
    const { toJsonLine } = await import('./render/json-lines.ts');
    const result = await runner.run(command, { ...options, stdin, signal });
    await terminal.write('stdout', toJsonLine({ sandboxId: runner.sandboxId, ...result }));
    return toExitStatus(result).status;
  }
  const result = await runner.run(command, {
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
