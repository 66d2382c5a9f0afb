/** `sublet providers`: where sandboxes can come from, and what each can do. */
import { defineCommand } from '../command.ts';
import { openInstallation } from '../../open.ts';
import { toJsonLines } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';

export const command = defineCommand({
  summary: 'list the providers and what they can do',
  arguments: [],
  options: { json: { type: 'boolean', help: 'print one JSON object a line' } },
  examples: [
    ['sublet providers', 'the built-in ones'],
    ['sublet doctor', 'which of them work on this machine'],
  ],
  async run({ options }, { env, terminal }) {
    const installation = openInstallation({ env });
    const modules = await Promise.all(installation.providerIds.map((id) => installation.module(id)));
    const rows = modules.map(({ id, title, summary, capabilities }) => ({ id, title, summary, capabilities }));
    if (options.json) await terminal.write('stdout', toJsonLines(rows));
    else {
      await printTable(
        rows,
        [
          { title: 'PROVIDER', value: (row) => row.id },
          { title: 'SUMMARY', value: (row) => row.summary, shrinks: true },
          { title: 'CAN', value: (row) => row.capabilities.join(' '), shrinks: true },
        ],
        terminal,
      );
    }
    return 0;
  },
});
