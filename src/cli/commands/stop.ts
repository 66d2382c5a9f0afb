/** `sublet stop`. */
import { defineCommand } from '../command.ts';
import { moveSandboxes } from '../move-sandboxes.ts';

export const command = defineCommand({
  summary: 'stop sandboxes: disk is kept, processes end',
  arguments: [{ name: 'ID', many: true, isSandbox: true }],
  options: { json: { type: 'boolean', help: 'print each sandbox as a JSON object' } },
  examples: [['sublet stop sbx_7k', 'its files wait for the next use']],
  run: ({ options, arguments: ids }, context) =>
    moveSandboxes(ids, context, {
      json: options.json,
      doing: 'Stopping',
      move: (sandboxes, id) => sandboxes.stop(id, 'asked by the CLI'),
    }),
});
