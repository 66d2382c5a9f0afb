/** `--help`, for the program and for each command, from the commands' own specs. */
import type { CommandSpec, OptionSpec } from '../command.ts';
import { COMMAND_GROUPS, COMMANDS } from '../command-table.ts';
import type { Colours } from './colours.ts';

export async function renderProgramHelp(colours: Colours): Promise<string> {
  const names = Object.keys(COMMANDS);
  const specs = new Map(await Promise.all(names.map(async (name) => [name, await loadSpec(name)] as const)));
  const width = Math.max(...names.map((name) => name.length));
  const groups = COMMAND_GROUPS.map(([title, members]) =>
    [
      colours('bold', title),
      ...members.map((name) => `  ${name.padEnd(width)}  ${specs.get(name)?.summary ?? ''}`),
    ].join('\n'),
  );
  return `${[
    'Leases sandboxes to AI agents and always gets them back.',
    `${colours('bold', 'Usage')}\n  sublet COMMAND [OPTIONS]`,
    ...groups,
    `${colours('bold', 'Examples')}\n  sublet run -- echo hello\n  sublet run --thread demo -- sh -c 'date >> log; cat log'\n  sublet ls`,
    'sublet COMMAND --help says more. Any unique prefix of an id is enough.',
  ].join('\n\n')}\n`;
}

export function renderCommandHelp(name: string, spec: CommandSpec, colours: Colours): string {
  const options = Object.entries(spec.options).map(([key, option]) => [optionUsage(key, option), option.help] as const);
  const all = [...options, ['-h, --help', 'show this help'] as const];
  const width = Math.max(...all.map(([usage]) => usage.length));
  const examples = spec.examples.map(([line, meaning]) => `  ${colours('dim', `# ${meaning}`)}\n  ${line}`);
  return `${[
    capitalized(`${spec.summary}.`),
    `${colours('bold', 'Usage')}\n  ${commandUsage(name, spec)}`,
    `${colours('bold', 'Options')}\n${all.map(([usage, help]) => `  ${usage.padEnd(width)}  ${help}`).join('\n')}`,
    ...(spec.notes ?? []),
    `${colours('bold', 'Examples')}\n${examples.join('\n')}`,
  ].join('\n\n')}\n`;
}

/** `sublet exec [OPTIONS] ID -- CMD…` */
export function commandUsage(name: string, spec: CommandSpec): string {
  const words = spec.arguments.map((argument) => {
    const text = `${argument.choices?.join('|') ?? argument.name}${argument.many === true ? '…' : ''}`;
    return argument.optional === true ? `[${text}]` : text;
  });
  const rest =
    spec.rest === undefined ? [] : [spec.rest.optional === true ? `[-- ${spec.rest.name}]` : `-- ${spec.rest.name}`];
  const options = Object.keys(spec.options).length === 0 ? [] : ['[OPTIONS]'];
  return ['sublet', name, ...options, ...words, ...rest].join(' ');
}

export function optionUsage(key: string, option: OptionSpec): string {
  const short = option.short === undefined ? '    ' : `-${option.short}, `;
  const value = option.type === 'string' ? ` ${option.value ?? 'VALUE'}` : '';
  return `${short}--${key}${value}${option.multiple === true ? ' …' : ''}`;
}

export async function loadSpec(name: string): Promise<CommandSpec | undefined> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return load === undefined ? undefined : (await load()).command;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
