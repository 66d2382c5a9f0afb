/** The command reference: a section for every command, from the specs that parsing and `--help` use. */
import { COMMAND_GROUPS } from '../src/cli/command-table.ts';
import type { CommandSpec } from '../src/cli/command.ts';
import { commandUsage, loadSpec, optionUsage } from '../src/cli/render/help.ts';

export async function cliReference(): Promise<string> {
  const sections = COMMAND_GROUPS.flatMap(([, names]) => names).map(async (name) => {
    const spec = await loadSpec(name);
    if (spec === undefined) throw new Error(`There is no command "${name}".`);
    return section(name, spec);
  });
  return (await Promise.all(sections)).join('\n\n');
}

function section(name: string, spec: CommandSpec): string {
  const options = Object.entries(spec.options).map(
    ([key, option]) => `| \`${cell(optionUsage(key, option).trim())}\` | ${cell(option.help)} |`,
  );
  const examples = spec.examples.map(([line, meaning]) => `# ${meaning}\n${line}`);
  return [
    `### sublet ${name}`,
    `${sentence(spec.summary)}`,
    `\`\`\`\n${commandUsage(name, spec)}\n\`\`\``,
    ...(options.length === 0 ? [] : [['| option | what it does |', '|---|---|', ...options].join('\n')]),
    ...(spec.notes ?? []),
    `\`\`\`sh\n${examples.join('\n\n')}\n\`\`\``,
  ].join('\n\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
