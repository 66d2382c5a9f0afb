/** A sandbox for as long as a command uses it: the conversation's when a thread is named, else one of its own. */
import type { AgentHandle, SandboxOptions } from '../core/api.ts';
import type { CommandContext } from './command.ts';
import { startProgress } from './progress.ts';

export interface WantedSandbox {
  readonly thread: string | undefined;
  readonly options: SandboxOptions;
}

export async function withSandbox<T>(
  wanted: WantedSandbox,
  context: CommandContext,
  use: (sandbox: AgentHandle) => Promise<T>,
): Promise<T> {
  const sublet = await context.sublet(wanted.thread === undefined ? wanted.options : undefined);
  const progress = startProgress(context.terminal, 'Starting a sandbox');
  try {
    if (wanted.thread === undefined) {
      return await sublet.ephemeral(wanted.options, (sandbox) => {
        progress.stop();
        return use(sandbox);
      });
    }
    const { openSession } = await import('./open-session.ts');
    await using session = await openSession(sublet, wanted.thread, wanted.options, context.terminal);
    progress.stop();
    return await use(session);
  } finally {
    progress.stop();
  }
}
