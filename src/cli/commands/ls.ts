/** `sublet ls`: the sandboxes there are. */
import { defineCommand } from '../command.ts';
import { printTable } from '../render/print-table.ts';
import { toJsonLines } from '../render/json-lines.ts';
import { sandboxColumns } from '../render/sandbox-columns.ts';

export const command = defineCommand({
  summary: 'list sandboxes, newest first',
  arguments: [],
  options: {
    all: { type: 'boolean', short: 'a', help: 'destroyed and lost ones too' },
    quiet: { type: 'boolean', short: 'q', help: 'ids only' },
    json: { type: 'boolean', help: 'print one JSON object a line' },
  },
  examples: [
    ['sublet ls', 'what is there now'],
    ['sublet ls --all --json', 'for a program, with what has ended'],
    ['sublet rm --yes $(sublet ls --quiet)', 'destroy them all'],
  ],
  async run({ options }, { sublet, terminal }) {
    const sandboxes = await (await sublet()).sandboxes.list({ all: options.all });
    if (options.json) await terminal.write('stdout', toJsonLines(sandboxes));
    else if (options.quiet) await terminal.write('stdout', sandboxes.map(({ id }) => `${id}\n`).join(''));
    else if (sandboxes.length === 0) await terminal.write('stderr', 'No sandboxes. "sublet new" makes one.\n');
    else await printTable(sandboxes, sandboxColumns(sandboxes, Date.now()), terminal);
    return 0;
  },
});
