/** `sublet reap`: gets back what is nobody's, and says of each sandbox what is done and why. */
import type { ReapReport, ReapVerdict } from '../../core/api.ts';
import { ERROR_CODES } from '../../core/errors.ts';
import { defineCommand } from '../command.ts';
import { withProgress } from '../progress.ts';
import type { Colour } from '../render/colours.ts';
import { toJsonLine } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';
import type { Column } from '../render/rows.ts';
import type { Terminal } from '../terminal.ts';

type Action = ReapVerdict['action'];

const COLOURS: Readonly<Record<Action, Colour>> = {
  keep: 'dim',
  adopt: 'good',
  watch: 'warn',
  pause: 'warn',
  stop: 'warn',
  destroy: 'bad',
  'mark-lost': 'bad',
};

const DONE: Readonly<Record<Action, string>> = {
  keep: 'kept',
  adopt: 'adopted',
  watch: 'watched',
  pause: 'paused',
  stop: 'stopped',
  destroy: 'destroyed',
  'mark-lost': 'marked as lost',
};

export const command = defineCommand({
  summary: 'get back what is nobody’s, and say why',
  arguments: [],
  options: {
    'dry-run': { type: 'boolean', short: 'n', help: 'say what would be done, and do nothing' },
    explain: { type: 'boolean', help: 'also say of what is kept why it is' },
    json: { type: 'boolean', help: 'print the report as a JSON object' },
  },
  notes: [
    'Every process that uses Sublet does this by itself, every few minutes. Dead processes’ ephemeral sandboxes are\ndestroyed and their sessions follow onExit. What a provider has and no record claims is destroyed after it was seen\ntwice, two minutes apart: until then it is watched. What a living process has is never touched.',
    `The exit status is 0, or ${ERROR_CODES.PROVIDER_UNAVAILABLE.exit} when a provider did not answer or something could not be done; it is tried again later.`,
  ],
  examples: [
    ['sublet reap', 'do it now'],
    ['sublet reap --dry-run --explain', 'what would become of every sandbox, and why'],
    ['sublet reap --json | jq .verdicts', 'for a program'],
  ],
  async run({ options }, { sublet, terminal }) {
    const dryRun = options['dry-run'];
    const engine = await sublet();
    const report = await withProgress(terminal, 'Asking providers', () => engine.reap({ dryRun }));
    if (options.json) await terminal.write('stdout', toJsonLine(report));
    else await print(report, options.explain, terminal);
    const isWhole = [...report.verdicts, ...report.providers].every(({ error }) => error === undefined);
    return isWhole ? 0 : ERROR_CODES.PROVIDER_UNAVAILABLE.exit;
  },
});

async function print(report: ReapReport, explain: boolean, terminal: Terminal): Promise<void> {
  const shown = report.verdicts.filter(({ action }) => explain || action !== 'keep');
  if (shown.length > 0) await printTable(shown, columns(report.dryRun), terminal);
  for (const { provider, profile, error } of report.providers) {
    const name = profile === provider ? provider : `${profile} (${provider})`;
    if (error !== undefined) await terminal.write('stderr', `sublet: ${name} did not answer: ${error}\n`);
  }
  await terminal.write('stdout', `${summary(report)}\n`);
}

function columns(dryRun: boolean): readonly Column<ReapVerdict>[] {
  return [
    { title: 'SANDBOX', value: ({ sandboxId, name }) => sandboxId ?? name },
    { title: 'PROVIDER', value: ({ provider }) => provider },
    { title: 'STATE', value: ({ state }) => state ?? 'unknown' },
    { title: dryRun ? 'WOULD' : 'DID', value: ({ action }) => action, colour: ({ action }) => COLOURS[action] },
    { title: 'WHY', value: ({ reason, error }) => (error === undefined ? reason : `${reason}; failed: ${error}`) },
  ];
}

function summary({ dryRun, verdicts }: ReapReport): string {
  const failed = verdicts.filter(({ error }) => error !== undefined).length;
  const counts = (Object.keys(DONE) as Action[]).flatMap((action) => {
    const count = verdicts.filter((verdict) => verdict.action === action && verdict.error === undefined).length;
    return count === 0 ? [] : [`${count} ${DONE[action]}`];
  });
  if (failed > 0) counts.push(`${failed} failed`);
  const text = counts.length === 0 ? 'nothing there' : counts.join(', ');
  return dryRun ? `dry run: ${text}` : text;
}
