/** `sublet providers`: where sandboxes can come from, what each can do, and why not here. */
import { toSubletError } from '../../core/errors.ts';
import { inOneLine } from '../../core/one-line.ts';
import { defineCommand } from '../command.ts';
import { type Installation, openInstallation } from '../../open.ts';
import { toJsonLines } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';

export const command = defineCommand({
  summary: 'list the providers and what they can do',
  arguments: [],
  options: { json: { type: 'boolean', help: 'print one JSON object a line' } },
  examples: [
    ['sublet providers', 'what is usable here, and why the rest is not'],
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
          {
            title: 'HERE',
            value: (row) => (row.usable ? 'usable' : (row.reason ?? 'not usable')),
            colour: (row) => (row.usable ? 'good' : 'warn'),
            shrinks: true,
          },
          { title: 'ENABLE WITH', value: (row) => (row.usable ? '' : (row.fix ?? '')), shrinks: true },
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
  /** The line that enables it. */
  readonly fix?: string | undefined;
}

async function describe(installation: Installation, id: string): Promise<Row> {
  const { title, summary, capabilities } = await installation.module(id);
  return { id, title, summary, capabilities, ...(await look(installation, id)) };
}

// One that cannot even be looked at is a row like the others.
async function look(installation: Installation, id: string): Promise<Pick<Row, 'usable' | 'reason' | 'fix'>> {
  try {
    const { usable, findings } = await installation.probe(id);
    const failed = findings.find(({ level }) => level === 'fail');
    return { usable, ...(failed === undefined ? {} : { reason: inOneLine(failed.message), fix: failed.fix }) };
  } catch (cause) {
    const { message, hint } = toSubletError(cause, 'PROVIDER_UNUSABLE');
    return { usable: false, reason: inOneLine(message), fix: hint };
  }
}
