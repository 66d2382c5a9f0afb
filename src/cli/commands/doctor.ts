/** `sublet doctor`: what this machine allows, in plain words, and whether a provider keeps its contract. */
import { openInstallation, type Installation } from '../../open.ts';
import { defineCommand, type CommandContext } from '../command.ts';
import { createLog } from '../create-log.ts';
import { withProgress } from '../progress.ts';
import { createColours, type Colour } from '../render/colours.ts';
import { warnOn } from '../render/to-warning.ts';
import { toJsonLine } from '../render/json-lines.ts';

type Probe = Awaited<ReturnType<Installation['probe']>>;
type Level = Probe['findings'][number]['level'];

const MARKS: Readonly<Record<Level, readonly [mark: string, colour: Colour]>> = {
  ok: ['ok  ', 'good'],
  note: ['note', 'warn'],
  fail: ['FAIL', 'bad'],
};

export const command = defineCommand({
  summary: 'say what this machine allows and how to enable the rest',
  arguments: [{ name: 'PROVIDER', optional: true, many: true }],
  options: {
    conformance: { type: 'string', value: 'PROVIDER', help: 'run the provider contract against it instead' },
    json: { type: 'boolean', help: 'print one JSON object a line' },
  },
  notes: [
    'The exit status is 0 when the store answers and a sandbox can be had, or every case of the contract passed; else 1.',
  ],
  examples: [
    ['sublet doctor', 'every provider'],
    ['sublet doctor --conformance namespace', 'prove that one keeps the contract here'],
  ],
  async run({ options, arguments: wanted }, context) {
    const { env, terminal } = context;
    const installation = openInstallation({ env, log: await createLog(env, warnOn(terminal)) });
    if (options.conformance !== undefined) {
      const { reportConformance } = await import('../report-conformance.ts');
      return reportConformance(installation, options.conformance, options.json, context);
    }
    // A name that is none is told before anything else is.
    for (const id of wanted) await installation.module(id);
    const store = await withProgress(context.terminal, 'Looking at the store', () => installation.probeStore());
    await print('store', store.findings[0]?.name ?? '', store, options.json, context);
    const ids = wanted.length === 0 ? installation.providerIds : wanted;
    let anyIsolates = false;
    for (const id of ids) {
      const probe = await withProgress(context.terminal, `Looking at ${id}`, () => installation.probe(id));
      const { capabilities } = await installation.module(id);
      anyIsolates ||= probe.usable && (wanted.length > 0 || capabilities.includes('isolation'));
      await print('provider', id, probe, options.json, context);
    }
    return anyIsolates && store.usable ? 0 : 1;
  },
});

async function print(
  what: 'store' | 'provider',
  id: string,
  probe: Probe,
  json: boolean,
  { terminal }: CommandContext,
): Promise<void> {
  if (json) return terminal.write('stdout', toJsonLine({ [what]: id, ...probe }));
  const colours = createColours(terminal.colours('stdout'));
  const verdict = probe.usable ? colours('good', 'usable') : colours('bad', 'not usable here');
  const lines = probe.findings.flatMap(({ level, name, message, fix }) => {
    const [mark, colour] = MARKS[level];
    const line = `  ${colours(colour, mark)}  ${name}: ${message}`;
    return fix === undefined ? [line] : [line, `        ${colours('dim', fix)}`];
  });
  const heading = `${colours('bold', what === 'store' ? what : id)}: ${verdict}`;
  await terminal.write('stdout', `${[heading, ...lines].join('\n')}\n`);
}
