/** `sublet migrate`: a session to another provider or profile, with its working directory. */
import type { MigrationReport } from '../../core/migration.ts';
import { defineCommand } from '../command.ts';
import { usage } from '../parse/command-line.ts';
import { withProgress } from '../progress.ts';
import { formatBytes } from '../render/amounts.ts';
import { toJsonLine } from '../render/json-lines.ts';

export const command = defineCommand({
  summary: 'move a session to another provider or profile',
  arguments: [{ name: 'SESSION', isSandbox: true }],
  options: {
    to: {
      type: 'string',
      value: 'NAME[,NAME…]',
      help: 'profile or provider to move to; of several, the first that can',
    },
    'end-commands': { type: 'boolean', help: 'end background commands first' },
    'dry-run': { type: 'boolean', help: 'say what would stay behind, and do nothing' },
    json: { type: 'boolean', help: 'print the report as a JSON object' },
  },
  notes: [
    'SESSION is the key of a thread, or the id of its sandbox. The working directory is carried over and compared file by\nfile before the session moves; whatever fails leaves it where it was. Processes, memory and ports do not move, and the\nnetwork does not loosen.',
  ],
  examples: [
    ['sublet migrate demo --to docker', 'the thread "demo", with its files'],
    ['sublet migrate demo --to e2b --dry-run', 'what would stay behind'],
  ],
  async run({ options, arguments: [session = ''] }, { sublet, terminal, signal }) {
    const { to } = options;
    if (to === undefined) throw usage('migrate', 'sublet migrate needs --to NAME.');
    const { sandboxes } = await sublet();
    const wanted = { to, endCommands: options['end-commands'], dryRun: options['dry-run'], signal };
    const report = await withProgress(terminal, `Moving ${session}`, () => sandboxes.migrate(session, wanted));
    await terminal.write('stdout', options.json ? toJsonLine(report) : toText(report));
    return 0;
  },
});

function toText({ key, from, to, entries, bytes, network, left, dryRun }: MigrationReport): string {
  const moved = `${to.sandboxId}  ${entries} entries, ${formatBytes(bytes)}, network ${network}`;
  const heading = dryRun ? `${key} would go from ${from.profile} to ${to.profile}` : moved;
  return `${[heading, ...left.map(({ what, message }) => `  ${what}: ${message}`)].join('\n')}\n`;
}
