/** `sublet pool`: warm sandboxes that wait to be leased. */
import type { Sublet } from '../../core/api.ts';
import { SubletError } from '../../core/errors.ts';
import type { PoolInfo } from '../../core/pools.ts';
import { defineCommand, type CommandContext } from '../command.ts';
import { usage } from '../parse/command-line.ts';
import { parseCount } from '../parse/quantities.ts';
import { withProgress } from '../progress.ts';
import { toJsonLine, toJsonLines } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';
import type { Column } from '../render/rows.ts';
import { STAT_COLUMNS, toStatRows } from '../render/pool-stats.ts';

const COLUMNS: readonly Column<PoolInfo>[] = [
  { title: 'POOL', value: (row) => row.name },
  { title: 'PROFILE', value: (row) => row.profile },
  { title: 'IDLE', value: (row) => `${row.idle}/${row.settings.minIdle}` },
  { title: 'PAUSED', value: (row) => `${row.paused}/${row.settings.minPaused}` },
  { title: 'LEASED', value: (row) => String(row.leased) },
  { title: 'WAITING', value: (row) => String(row.waiting), colour: (row) => (row.waiting > 0 ? 'warn' : 'dim') },
  { title: 'TOTAL', value: (row) => `${row.total}/${row.settings.maxTotal}` },
  { title: 'KEEPERS', value: (row) => String(row.keepers) },
  { title: 'REUSE', value: (row) => row.settings.reuse },
];

export const command = defineCommand({
  summary: 'show, warm and drain pools of sandboxes',
  arguments: [
    { name: 'ACTION', optional: true, choices: ['ls', 'warm', 'drain', 'stats'] },
    { name: 'POOL', optional: true },
  ],
  options: {
    count: { type: 'string', short: 'c', value: 'N', help: 'warm: how many are to be idle (default: the minimum)' },
    json: { type: 'boolean', help: 'print JSON, one object a line' },
  },
  notes: [
    'A pool is named after its profile: "python" is the pool "default" of the profile python, "python/batch" another one.',
    'ls lists pools with what they have and what they are to have; warm makes sandboxes now, which wait for the pool’s\nidle time-out after this command ends, or for as long as a process keeps the pool; drain destroys what is idle and\nleaves alone what is in use; stats shows what was counted since the store was made.',
  ],
  examples: [
    ['sublet pool', 'every pool, with idle and minimum, total and maximum'],
    ['sublet pool warm python --count 5', 'have five ready before the rush'],
    ['sublet pool drain python', 'after a new image: what is idle goes'],
    ['sublet pool stats python --json | jq .hits', 'for a program'],
  ],
  async run({ options, arguments: [action = 'ls', name] }, context) {
    const sublet = await context.sublet();
    if (action === 'ls') return list(sublet, options.json, context);
    if (name === undefined) throw usage('pool', `sublet pool ${action} needs POOL.`);
    switch (action) {
      case 'warm':
        return warm(sublet, name, options, context);
      case 'drain':
        return drain(sublet, name, options.json, context);
      case 'stats':
        return stats(sublet, name, options.json, context);
      default:
        throw new SubletError('USAGE', `sublet pool cannot "${action}".`);
    }
  },
});

async function list(sublet: Sublet, json: boolean, { terminal }: CommandContext): Promise<number> {
  const pools = await sublet.pools.list();
  if (json) await terminal.write('stdout', toJsonLines(pools));
  else await printTable(pools, COLUMNS, terminal);
  return 0;
}

async function warm(
  sublet: Sublet,
  name: string,
  options: { readonly count: string | undefined; readonly json: boolean },
  { terminal, signal }: CommandContext,
): Promise<number> {
  const count = options.count === undefined ? undefined : parseCount(options.count, '--count');
  const info = await withProgress(terminal, `Warming ${name}`, () =>
    sublet.pools.warm(name, { count, keep: true, signal }),
  );
  const said = `${name}: ${info.idle} idle, ${info.paused} paused\n`;
  await terminal.write('stdout', options.json ? toJsonLine(info) : said);
  return 0;
}

async function drain(sublet: Sublet, name: string, json: boolean, { terminal }: CommandContext): Promise<number> {
  const drained = await sublet.pools.drain(name, 'drained by hand');
  await terminal.write('stdout', json ? toJsonLine({ pool: name, drained }) : `${name}: ${drained} drained\n`);
  return 0;
}

async function stats(sublet: Sublet, name: string, json: boolean, { terminal }: CommandContext): Promise<number> {
  const counted = await sublet.pools.stats(name);
  if (json) await terminal.write('stdout', toJsonLine(counted));
  else await printTable(toStatRows(counted), STAT_COLUMNS, terminal);
  return 0;
}
