/** `sublet providers`: where sandboxes can come from, what each can do, and why not here. */
import { toSubletError } from '../../core/errors.ts';
import { inOneLine } from '../../core/one-line.ts';
import { defineCommand } from '../command.ts';
import { type Installation, openInstallation } from '../../open.ts';
import { type Colours, createColours } from '../render/colours.ts';
import { toJsonLines } from '../render/json-lines.ts';

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
    else await terminal.write('stdout', render(rows, createColours(terminal.colours('stdout'))));
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

/** What is usable first. A line of its own for each thing that is said: some are long. */
function render(rows: readonly Row[], colours: Colours): string {
  const width = Math.max(...rows.map(({ id }) => id.length)) + 2;
  const blocks = rows
    .toSorted((a, b) => Number(b.usable) - Number(a.usable))
    .map((row) => {
      const verdict = row.usable ? colours('good', 'usable') : colours('warn', row.reason ?? 'not usable');
      const rest = [row.fix, row.summary, colours('dim', `can: ${row.capabilities.join(' ')}`)];
      const lines = [verdict, ...rest.filter((line) => line !== undefined)];
      return `${colours('bold', row.id)}${' '.repeat(width - row.id.length)}${lines.join(`\n${' '.repeat(width)}`)}\n`;
    });
  return blocks.join('');
}
