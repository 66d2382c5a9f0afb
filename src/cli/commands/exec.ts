/** `sublet exec`: a command in a sandbox that is there. */
import { defineCommand } from '../command.ts';
import { COMMAND_OPTIONS, toCommandOptions } from '../parse/command-options.ts';
import { parseEnv } from '../parse/sandbox-options.ts';
import { runInSandbox } from '../run-in-sandbox.ts';
import { wakeSandbox } from '../wake-sandbox.ts';

export const command = defineCommand({
  summary: 'run a command in a sandbox that is there',
  arguments: [{ name: 'ID', isSandbox: true }],
  rest: { name: 'CMD…' },
  options: {
    env: {
      type: 'string',
      short: 'e',
      value: 'NAME[=VALUE]',
      multiple: true,
      help: 'set a variable; without a value it is taken from here',
    },
    detach: { type: 'boolean', short: 'd', help: 'start it in the background and print its id for `sublet logs`' },
    ...COMMAND_OPTIONS,
  },
  notes: ['A paused or stopped sandbox is woken first. The exit status is as for `sublet run`.'],
  examples: [
    ['sublet exec sbx_7k -- ls -l', 'any unique prefix of the id is enough'],
    ['sublet exec --detach sbx_7k -- sh -c "make > build.log"', 'in the background'],
  ],
  async run({ options, arguments: [id = ''], rest }, context) {
    const { cwd, timeoutMs, json } = toCommandOptions(options);
    const env = Object.fromEntries(options.env.flatMap((text) => parseEnv(text, context.env)));
    // A command in the background needs a sandbox that goes on when this process ends.
    if (options.detach) await (await context.sublet()).sandboxes.resume(id, 'a command in the background');
    const sandbox = await wakeSandbox(id, context);
    if (!options.detach) return runInSandbox(sandbox, { command: rest, cwd, timeoutMs, json, env }, context);
    const running = await sandbox.commands.start(rest, { cwd, timeoutMs, env });
    const { toJsonLine } = await import('../render/json-lines.ts');
    await context.terminal.write('stdout', json ? toJsonLine(await running.info()) : `${running.id}\n`);
    return 0;
  },
});
