/** `sublet destroy-all-sessions`: every session's sandbox of this installation. */
import { defineCommand } from '../command.ts';
import { confirm } from '../confirm.ts';
import { withProgress } from '../progress.ts';
import { toJsonLine } from '../render/json-lines.ts';

export const command = defineCommand({
  summary: "destroy every session's sandbox, files included",
  arguments: [],
  options: {
    yes: { type: 'boolean', short: 'y', help: 'do not ask' },
    json: { type: 'boolean', help: 'print the count as a JSON object' },
  },
  examples: [
    ['sublet destroy-all-sessions', 'asks first'],
    ['sublet destroy-all-sessions --yes', 'in a script'],
  ],
  async run({ options }, context) {
    const { terminal } = context;
    if (!options.yes && !(await confirm("Destroy every session's sandbox, files included?", context))) return 1;
    const sublet = await context.sublet();
    const destroyed = await withProgress(terminal, 'Destroying sandboxes', () =>
      sublet.destroyAllSessions('asked by the CLI'),
    );
    await terminal.write('stdout', options.json ? toJsonLine({ destroyed }) : `${destroyed} destroyed\n`);
    return 0;
  },
});
