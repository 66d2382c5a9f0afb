/** The agent's handle on a sandbox by id, woken if need be. */
import type { AgentHandle } from '../core/api.ts';
import type { CommandContext } from './command.ts';
import { withProgress } from './progress.ts';

export async function wakeSandbox(idOrPrefix: string, context: CommandContext): Promise<AgentHandle> {
  const sublet = await context.sublet();
  return withProgress(context.terminal, 'Waking the sandbox', () => sublet.sandboxes.open(idOrPrefix));
}
