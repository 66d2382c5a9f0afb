/** `sublet shell`: an interactive login shell in a sandbox. */
import type { AgentHandle } from '../../core/api.ts';
import type { CommandContext } from '../command.ts';
import { defineCommand } from '../command.ts';
import { SANDBOX_OPTIONS, toSandboxOptions } from '../parse/sandbox-options.ts';
import { runInSandbox } from '../run-in-sandbox.ts';
import { wakeSandbox } from '../wake-sandbox.ts';
import { withSandbox } from '../with-sandbox.ts';

// Bash where the image has it; every image has sh.
const LOGIN_SHELL = 'if command -v bash >/dev/null 2>&1; then exec bash -l; fi; exec sh -l';

export const command = defineCommand({
  summary: 'open a login shell in a sandbox',
  arguments: [{ name: 'ID', optional: true, isSandbox: true }],
  options: SANDBOX_OPTIONS,
  notes: ["Without an ID it makes a sandbox that is gone when the shell ends; with --thread it is the conversation's."],
  examples: [
    ['sublet shell', 'somewhere to try things out'],
    ['sublet shell --thread demo', "in a conversation's sandbox"],
    ['sublet shell sbx_7k', 'in a sandbox that is there'],
  ],
  async run({ options, arguments: [id] }, context) {
    if (id !== undefined) return openShell(await wakeSandbox(id, context), context);
    const wanted = { thread: options.thread, options: toSandboxOptions(options, context.env, context.signal) };
    return withSandbox(wanted, context, (sandbox) => openShell(sandbox, context));
  },
});

function openShell(sandbox: AgentHandle, context: CommandContext): Promise<number> {
  return runInSandbox(sandbox, { command: LOGIN_SHELL, json: false }, context);
}
