/** `sublet run`: a command in a sandbox made for it, or in a conversation's. */
import { defineCommand } from '../command.ts';
import { COMMAND_OPTIONS, toCommandOptions } from '../parse/command-options.ts';
import { SANDBOX_OPTIONS, toSandboxOptions } from '../parse/sandbox-options.ts';
import { runAlone } from '../run-alone.ts';
import { runInSandbox, wantsTerminal } from '../run-in-sandbox.ts';
import { withSandbox } from '../with-sandbox.ts';

export const command = defineCommand({
  summary: 'run a command in a new sandbox that is gone afterwards',
  arguments: [],
  rest: { name: 'CMD…' },
  options: { ...SANDBOX_OPTIONS, ...COMMAND_OPTIONS },
  notes: [
    "The exit status is the command's; 124 when it ran out of time, 128+n when signal n killed it, 70 when it is not\nknown. Without --thread the sandbox is destroyed afterwards; with it, it is kept as its profile's policy says.",
  ],
  examples: [
    ['sublet run -- echo hello', 'no network, none of your files'],
    ['sublet run --mount .:/src -- ls /src', 'this directory, read-only'],
    ["sublet run --thread demo -- sh -c 'date >> log; cat log'", 'a sandbox that the key "demo" finds again'],
    ['sublet run --sandbox docker,namespace -- uname -a', 'the first of these that works'],
    ['echo data | sublet run --timeout 5s --memory 256m -- wc -c', 'input from a pipe, within limits'],
  ],
  async run({ options, rest }, context) {
    const wanted = { thread: options.thread, options: toSandboxOptions(options, context.env, context.signal) };
    const work = { command: rest, ...toCommandOptions(options) };
    if (wanted.thread === undefined && !wantsTerminal(work, context)) return runAlone(wanted.options, work, context);
    return withSandbox(wanted, context, (sandbox) => runInSandbox(sandbox, work, context));
  },
});
