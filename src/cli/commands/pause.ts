/** `sublet pause`. */
import { defineCommand } from '../command.ts';
import { moveSandboxes } from '../move-sandboxes.ts';

export const command = defineCommand({
  summary: 'freeze sandboxes: memory and processes are kept',
  arguments: [{ name: 'ID', many: true, isSandbox: true }],
  options: { json: { type: 'boolean', help: 'print each sandbox as a JSON object' } },
  examples: [['sublet pause sbx_7k', 'nothing runs until it is resumed or used']],
  run: ({ options, arguments: ids }, context) =>
    moveSandboxes(ids, context, {
      json: options.json,
      doing: 'Pausing',
      move: (sandboxes, id) => sandboxes.pause(id, 'asked by the CLI'),
    }),
});
