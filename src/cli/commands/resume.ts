/** `sublet resume`. */
import { defineCommand } from '../command.ts';
import { moveSandboxes } from '../move-sandboxes.ts';

export const command = defineCommand({
  summary: 'wake paused or stopped sandboxes',
  arguments: [{ name: 'ID', many: true, isSandbox: true }],
  options: { json: { type: 'boolean', help: 'print each sandbox as a JSON object' } },
  examples: [['sublet resume sbx_7k', 'it goes on where it was']],
  run: ({ options, arguments: ids }, context) =>
    moveSandboxes(ids, context, {
      json: options.json,
      doing: 'Resuming',
      move: (sandboxes, id) => sandboxes.resume(id, 'asked by the CLI'),
    }),
});
