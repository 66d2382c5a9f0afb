/** `sublet rm`: destroys sandboxes, disk included. */
import { defineCommand } from '../command.ts';
import { confirm } from '../confirm.ts';
import { moveSandboxes } from '../move-sandboxes.ts';

export const command = defineCommand({
  summary: 'destroy sandboxes, their files included',
  arguments: [{ name: 'ID', many: true, isSandbox: true }],
  options: {
    yes: { type: 'boolean', short: 'y', help: 'do not ask' },
    json: { type: 'boolean', help: 'print each sandbox as a JSON object' },
  },
  examples: [
    ['sublet rm sbx_7k', 'asks on a terminal'],
    ['sublet rm --yes sbx_7k sbx_9m', 'does not ask'],
  ],
  async run({ options, arguments: ids }, context) {
    const question = `Destroy ${ids.length === 1 ? (ids[0] ?? '') : `${ids.length} sandboxes`}, files included?`;
    if (!options.yes) {
      // Nobody is asked about what is not there.
      if (context.terminal.isInteractive) {
        const { sandboxes } = await context.sublet();
        for (const id of ids) await sandboxes.get(id);
      }
      if (!(await confirm(question, context))) return 1;
    }
    return moveSandboxes(ids, context, {
      json: options.json,
      doing: 'Destroying',
      move: (sandboxes, id) => sandboxes.destroy(id, 'asked by the CLI'),
    });
  },
});
