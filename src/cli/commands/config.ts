/** `sublet config`: where configuration is, what it comes to, and the keys in `config.env`. */
import type { Config } from '../../config/config.ts';
import type { ExplainRow } from '../../config/explanation.ts';
import { openInstallation } from '../../open.ts';
import { defineCommand, type CommandContext } from '../command.ts';
import { createLog } from '../create-log.ts';
import { usage } from '../parse/command-line.ts';
import { warnOn } from '../render/to-warning.ts';
import { toJsonLine, toJsonLines } from '../render/json-lines.ts';
import { printTable } from '../render/print-table.ts';
import type { Column } from '../render/rows.ts';

const EXPLAIN_COLUMNS: readonly Column<ExplainRow>[] = [
  { title: 'SETTING', value: (row) => row.path },
  { title: 'VALUE', value: (row) => toText(row.value), shrinks: true },
  { title: 'FROM', value: (row) => row.source },
];

const ENTRY_COLUMNS: readonly Column<Entry>[] = [
  { title: 'KIND', value: (row) => row.kind },
  { title: 'NAME', value: (row) => row.name },
  { title: 'PROVIDER', value: (row) => row.provider ?? '' },
  { title: 'PROBLEM', value: (row) => row.problem ?? '', colour: () => 'bad', shrinks: true },
];

export const command = defineCommand({
  summary: 'show and change configuration',
  arguments: [
    { name: 'ACTION', optional: true, choices: ['ls', 'path', 'explain', 'set', 'unset'] },
    { name: 'NAME', optional: true },
  ],
  options: { json: { type: 'boolean', help: 'print one JSON object a line' } },
  notes: [
    'ls lists profiles and keys; path prints the home directory; explain [NAME] shows every value a sandbox gets and\nwhere it comes from; set KEY=VALUE or set KEY writes config.env, asking without echo when no value is given, and\nreading standard input when there is no terminal; unset KEY removes one.',
  ],
  examples: [
    ['sublet config explain', 'what a plain "sublet run" uses'],
    ['sublet config explain docker,e2b', 'what each choice of a list would get'],
    ['sublet config set E2B_API_KEY', 'asks for the value; nothing lands in the shell history'],
    ['cd "$(sublet config path)"', 'where profiles and keys are'],
  ],
  async run({ options, arguments: [action = 'ls', name] }, context) {
    const { terminal, env } = context;
    const { config } = openInstallation({ env, log: await createLog(env, warnOn(terminal)) });
    switch (action) {
      case 'path':
        await terminal.write('stdout', options.json ? toJsonLine({ home: config.home.home }) : `${config.home.home}\n`);
        return 0;
      case 'explain':
        return explain(config, name, options.json, context);
      case 'set':
      case 'unset':
        if (name === undefined) throw usage('config', `sublet config ${action} needs KEY.`);
        if (action === 'unset') await config.setKey(name, undefined);
        else await config.setKey(...(await keyAndValue(name, context)));
        return 0;
      default:
        return list(config, options.json, context);
    }
  },
});

async function explain(
  config: Config,
  name: string | undefined,
  json: boolean,
  { terminal }: CommandContext,
): Promise<number> {
  const rows = await config.explain({ sandbox: name });
  if (json) await terminal.write('stdout', toJsonLines(rows));
  else await printTable(rows, EXPLAIN_COLUMNS, terminal);
  return 0;
}

interface Entry {
  readonly kind: 'profile' | 'key';
  readonly name: string;
  readonly provider?: string | undefined;
  readonly problem?: string | undefined;
}

async function list(config: Config, json: boolean, { terminal }: CommandContext): Promise<number> {
  const profiles = (await config.profiles()).map(({ name, provider, choices, error }): Entry => ({
    kind: 'profile',
    name,
    provider: provider ?? choices?.join(', '),
    problem: error?.message,
  }));
  const entries = [...profiles, ...(await config.keys()).map((name): Entry => ({ kind: 'key', name }))];
  if (json) await terminal.write('stdout', toJsonLines(entries));
  else if (entries.length === 0)
    await terminal.write(
      'stderr',
      `No profiles in ${config.home.profilesDir} and no keys in ${config.home.configEnv}.\n`,
    );
  else await printTable(entries, ENTRY_COLUMNS, terminal);
  return 0;
}

async function keyAndValue(text: string, context: CommandContext): Promise<[string, string]> {
  const equals = text.indexOf('=');
  if (equals !== -1) {
    const [name, value] = [text.slice(0, equals), text.slice(equals + 1)];
    if (isSecret(name, value)) await context.terminal.write('stderr', exposed(name));
    return [name, value];
  }
  const { readSecret } = await import('../read-secret.ts');
  return [text, await readSecret(text, context)];
}

function isSecret(name: string, value: string): boolean {
  return /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/iu.test(name) || /:\/\/[^/@]*:[^/@]*@/u.test(value);
}

function exposed(name: string): string {
  return `sublet: warning: The value of ${name} may be in your shell's history now, and was for others to see while this ran. Leave it out and be asked for it: sublet config set ${name}\n`;
}

function toText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
