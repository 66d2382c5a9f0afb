/** `sublet providers`: where sandboxes can come from, what each can do, and why not here. */
import { defineCommand } from '../command.ts';
import { type Installation, openInstallation } from '../../open.ts';
import { toJsonLines } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';

export const command = defineCommand({
  summary: 'list the providers and what they can do',
  arguments: [],
  options: { json: { type: 'boolean', help: 'print one JSON object a line' } },
  examples: [
    ['sublet providers', 'the built-in ones'],
    ['sublet doctor', 'the lines that enable the rest'],
  ],
  async run({ options }, { env, terminal }) {
    const installation = openInstallation({ env });
    const rows = await Promise.all(installation.providerIds.map((id) => describe(installation, id)));
    if (options.json) await terminal.write('stdout', toJsonLines(rows));
    else {
      await printTable(
        rows,
        [
          { title: 'PROVIDER', value: (row) => row.id },
          { title: 'HERE', value: (row) => (row.usable ? 'usable' : (row.reason ?? 'not usable')), shrinks: true },
          { title: 'SUMMARY', value: (row) => row.summary, shrinks: true },
          { title: 'CAN', value: (row) => row.capabilities.join(' '), shrinks: true },
        ],
        terminal,
      );
    }
    return 0;
  },
});

interface Row {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly capabilities: readonly string[];
  readonly usable: boolean;
  /** Why not. */
  readonly reason?: string | undefined;
}

async function describe(installation: Installation, id: string): Promise<Row> {
  const [{ title, summary, capabilities }, { usable, findings }] = await Promise.all([
    installation.module(id),
    installation.probe(id),
  ]);
  const failed = findings.find(({ level }) => level === 'fail');
  return {
    id,
    title,
    summary,
    capabilities,
    usable,
    ...(failed === undefined ? {} : { reason: failed.message.split('\n')[0] }),
  };
}
