/** `sublet new`: a session's sandbox, made and left for later. */
import { randomUUID } from 'node:crypto';
import { defineCommand } from '../command.ts';
import { openSession } from '../open-session.ts';
import { SANDBOX_OPTIONS, toSandboxOptions } from '../parse/sandbox-options.ts';
import { withProgress } from '../progress.ts';
import { toJsonLine } from '../render/json-lines.ts';

const { sandbox: _, ...OPTIONS } = SANDBOX_OPTIONS;

export const command = defineCommand({
  summary: 'make a sandbox, keep it, and print its id',
  arguments: [{ name: 'NAME', optional: true }],
  options: { ...OPTIONS, json: { type: 'boolean', help: 'print the sandbox as a JSON object' } },
  notes: [
    'NAME is a profile or a provider, or several with commas: the first that can make it. Without --thread the sandbox gets a key of its own.',
  ],
  examples: [
    ['sublet new', 'the best provider of this machine'],
    ['id=$(sublet new --thread demo) && sublet exec "$id" -- uname -a', 'and use it'],
  ],
  async run({ options, arguments: [name] }, context) {
    const sandboxOptions = toSandboxOptions({ ...options, sandbox: name }, context.env, context.signal);
    const sublet = await context.sublet();
    await using session = await withProgress(context.terminal, 'Starting a sandbox', () =>
      openSession(sublet, options.thread ?? randomUUID(), sandboxOptions, context.terminal),
    );
    const output = options.json ? toJsonLine(await sublet.sandboxes.get(session.sandboxId)) : `${session.sandboxId}\n`;
    await context.terminal.write('stdout', output);
    return 0;
  },
});
