/** `sublet logs`: the output of a background command, now or as it comes. */
import type { CommandInfo, Commands, OutputStream, RunningCommand } from '../../core/commands.ts';
import { SubletError } from '../../core/errors.ts';
import { defineCommand, type CommandContext } from '../command.ts';
import { parseCount } from '../parse/quantities.ts';
import { toJsonLine, toJsonLines } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';
import type { Column } from '../render/rows.ts';
import { wakeSandbox } from '../wake-sandbox.ts';

const STREAMS = ['stdout', 'stderr'] as const satisfies readonly OutputStream[];

const COLUMNS: readonly Column<CommandInfo>[] = [
  { title: 'ID', value: (row) => row.id },
  { title: 'STARTED', value: (row) => new Date(row.startedAt).toISOString() },
  { title: 'STATE', value: (row) => (row.running ? 'running' : `exited ${row.exitCode ?? 'unknown'}`) },
  { title: 'COMMAND', value: (row) => row.command, shrinks: true },
];

export const command = defineCommand({
  summary: 'show the output of a background command',
  arguments: [
    { name: 'ID', isSandbox: true },
    { name: 'CMD', optional: true },
  ],
  options: {
    follow: { type: 'boolean', short: 'f', help: 'wait for more until the command ends' },
    since: { type: 'string', value: 'CURSOR', help: 'skip this many bytes of each stream' },
    list: { type: 'boolean', short: 'l', help: 'list the background commands instead' },
    json: { type: 'boolean', help: 'print one JSON object a chunk: stream, base64 data, next cursor' },
  },
  notes: [
    'CMD is the id that `sublet exec --detach` printed, or a unique prefix; without it, the newest command.',
    'A paused or stopped sandbox is woken for it.',
  ],
  examples: [
    ['sublet logs sbx_7k', 'of the newest background command'],
    ['sublet logs --follow sbx_7k cmd_4p', 'of one, as it comes'],
    ['sublet logs --list sbx_7k', 'which there are'],
  ],
  async run({ options, arguments: [id = '', wanted] }, context) {
    const since = options.since === undefined ? 0 : parseCount(options.since, '--since');
    const { commands } = await wakeSandbox(id, context);
    if (options.list) return listCommands(await commands.list(), options.json, context);
    const running = await findCommand(commands, wanted);
    await Promise.all(STREAMS.map((stream) => copyOutput(running, stream, since, options, context)));
    return 0;
  },
});

async function listCommands(
  commands: readonly CommandInfo[],
  json: boolean,
  { terminal }: CommandContext,
): Promise<number> {
  if (json) await terminal.write('stdout', toJsonLines(commands));
  else if (commands.length === 0) await terminal.write('stderr', 'No background commands.\n');
  else await printTable(commands, COLUMNS, terminal);
  return 0;
}

async function findCommand(commands: Commands, wanted: string | undefined): Promise<RunningCommand> {
  const known = await commands.list();
  const matches = wanted === undefined ? known.slice(0, 1) : known.filter(({ id }) => id.startsWith(wanted));
  const [match, ...others] = matches.filter(({ id }) => id === wanted).concat(matches);
  if (match === undefined) {
    throw new SubletError(
      'COMMAND_NOT_FOUND',
      wanted === undefined ? 'The sandbox has no background command.' : `No background command is "${wanted}".`,
      {
        hint: 'sublet exec --detach starts one; sublet logs --list shows them.',
      },
    );
  }
  if (wanted !== match.id && others.length > 0) {
    throw new SubletError('USAGE', `"${wanted}" is the beginning of several command ids.`, {
      hint: matches.map(({ id }) => id).join('\n'),
    });
  }
  return commands.attach(match.id);
}

async function copyOutput(
  running: RunningCommand,
  stream: OutputStream,
  since: number,
  options: { readonly follow: boolean; readonly json: boolean },
  { terminal, signal }: CommandContext,
): Promise<void> {
  let cursor = since;
  while (!signal.aborted) {
    const chunk = await running.output(stream, cursor, { wait: options.follow, signal });
    if (chunk.lostBytes > 0)
      await terminal.write('stderr', `sublet: note: ${chunk.lostBytes} bytes of ${stream} are no longer kept\n`);
    if (chunk.data.length > 0) {
      const { next, lostBytes } = chunk;
      const line = (): string =>
        toJsonLine({ stream, data: Buffer.from(chunk.data).toString('base64'), next, lostBytes });
      await terminal.write(options.json ? 'stdout' : stream, options.json ? line() : chunk.data);
    }
    cursor = chunk.next;
    if (chunk.end || (!options.follow && chunk.data.length === 0)) return;
  }
}
