/** A command on a terminal of its own inside the sandbox, joined to the user's: keys go in raw, the size follows. */
import type { AgentHandle } from '../core/api.ts';
import type { CommandExit, RunningCommand } from '../core/commands.ts';
import type { CommandContext } from './command.ts';
import type { SandboxedCommand } from './run-in-sandbox.ts';
import type { Terminal } from './terminal.ts';

export async function runOnTerminal(
  sandbox: AgentHandle,
  work: SandboxedCommand,
  context: CommandContext,
): Promise<CommandExit> {
  const { terminal, signal } = context;
  const { command, cwd, env, timeoutMs } = work;
  const running = await sandbox.commands.start(command, {
    cwd,
    timeoutMs,
    env: { TERM: context.env['TERM'] ?? 'xterm', ...env },
    pty: terminal.size(),
    signal,
  });
  const leave = joinTerminal(running, terminal);
  try {
    for await (const chunk of running.stream('stdout', { signal })) await terminal.write('stdout', chunk);
    return await running.wait(signal);
  } finally {
    leave();
    // Over already unless we were interrupted; then nobody is left to talk to it.
    await running.kill('SIGHUP').catch(() => undefined);
  }
}

/** Returns what gives the terminal back as it was. */
function joinTerminal(running: RunningCommand, terminal: Terminal): () => void {
  const { stdin } = terminal;
  // Keys and sizes that arrive after the command ended have nowhere to go.
  const ignore = (): void => undefined;
  let writes = Promise.resolve();
  const onData = (data: Uint8Array): void => {
    writes = writes.then(() => running.writeStdin(data)).catch(ignore);
  };
  stdin.setRawMode(true);
  stdin.on('data', onData);
  stdin.resume();
  const stopResizing = terminal.onResize(() => void running.resize(terminal.size()).catch(ignore));
  return () => {
    stopResizing();
    stdin.off('data', onData);
    stdin.pause();
    stdin.setRawMode(false);
  };
}
