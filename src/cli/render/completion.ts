/** Completion scripts, from the commands' own specs. Ids are asked of `sublet ls --quiet` when the key is pressed. */
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../command.ts';
import { COMMANDS } from '../command-table.ts';
import { loadSpec } from './help.ts';

type Spec = readonly [name: string, spec: CommandSpec];

export async function renderCompletion(shell: 'bash' | 'zsh' | 'fish'): Promise<string> {
  const names = Object.keys(COMMANDS);
  const specs = await Promise.all(names.map(async (name) => [name, await loadSpec(name)] as const));
  const known = specs.flatMap(([name, spec]): readonly Spec[] => (spec === undefined ? [] : [[name, spec]]));
  switch (shell) {
    case 'bash':
      return bash(known);
    case 'zsh':
      return zsh(known);
    case 'fish':
      return fish(known);
  }
}

function bash(specs: readonly Spec[]): string {
  const cases = specs.map(([name, spec]) => {
    const flags = [...flagsOf(spec), '--help'].join(' ');
    return `    ${name}) flags='${flags}' words='${wordsOf(spec)}' ids='${takesSandbox(spec) ? 'yes' : ''}' ;;`;
  });
  const values = choicesOf(specs).map(
    ([flag, choices]) => `    ${flag}) COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$current")); return ;;`,
  );
  return `# bash completion for sublet
_sublet() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" flags='' words='' ids='' word
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${[...specs.map(([name]) => name), 'help'].join(' ')}' -- "$current"))
    return
  fi
  for word in "\${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
    if [ "$word" = -- ]; then COMPREPLY=($(compgen -c -f -- "$current")); return; fi
  done
  case "$previous" in
${values.join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
    help) words='${specs.map(([name]) => name).join(' ')}' ;;
${cases.join('\n')}
  esac
  if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current")); return; fi
  if [ -n "$ids" ]; then words="$words $(sublet ls --quiet 2>/dev/null)"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _sublet sublet
`;
}

function zsh(specs: readonly Spec[]): string {
  const commands = specs.map(([name, spec]) => `    ${zshQuote(`${name}:${spec.summary}`)}`);
  const cases = specs.map(([name, spec]) => {
    const options = Object.entries(spec.options).map(([key, option]) => zshQuote(zshOption(key, option)));
    const actions = spec.arguments.map((argument, index) => {
      return zshQuote(`${argument.many === true ? '*' : index + 1}:${argument.name}:${zshAction(argument)}`);
    });
    const rest = spec.rest === undefined ? [] : [`'*::command:_normal'`];
    return `    ${name}) _arguments ${[...options, zshQuote('--help[show help]'), ...actions, ...rest].join(' ')} ;;`;
  });
  return `#compdef sublet
_sublet_ids() { local -a ids; ids=(\${(f)"$(sublet ls --quiet 2>/dev/null)"}); compadd -a ids }
_sublet() {
  local -a commands=(
${commands.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local name=$words[2]
  shift words; (( CURRENT-- ))
  case $name in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = _sublet ]; then _sublet "$@"; else compdef _sublet sublet; fi
`;
}

function fish(specs: readonly Spec[]): string {
  const lines = specs.flatMap(([name, spec]) => {
    const here = `complete -c sublet -n '__fish_seen_subcommand_from ${name}'`;
    const words = wordsOf(spec);
    return [
      `complete -c sublet -n __fish_use_subcommand -f -a ${name} -d ${fishQuote(spec.summary)}`,
      ...Object.entries(spec.options).map(([key, option]) => `${here} ${fishOption(key, option)}`),
      ...(words === '' ? [] : [`${here} -f -a '${words}'`]),
      ...(takesSandbox(spec) ? [`${here} ${fishFiles(spec)}-a '(sublet ls --quiet 2>/dev/null)'`] : []),
    ];
  });
  return `# fish completion for sublet\n${lines.join('\n')}\n`;
}

function zshAction({ choices, isSandbox, maybeSandbox }: ArgumentSpec): string {
  if (choices !== undefined) return `(${choices.join(' ')})`;
  if (maybeSandbox === true) return '{_sublet_ids; _files}';
  return isSandbox === true ? '_sublet_ids' : '_files';
}

function zshOption(key: string, option: OptionSpec): string {
  const value =
    option.type === 'boolean'
      ? ''
      : `:${(option.value ?? 'value').replaceAll(':', String.raw`\:`)}:${option.choices === undefined ? '' : `(${option.choices.join(' ')})`}`;
  return `${option.multiple === true ? '*' : ''}--${key}[${option.help.replaceAll(/[[\]]/g, '')}]${value.replaceAll(/[[\]]/g, '')}`;
}

function fishOption(key: string, option: OptionSpec): string {
  const short = option.short === undefined ? '' : ` -s ${option.short}`;
  const choices = option.choices === undefined ? '' : ` -f -a '${option.choices.join(' ')}'`;
  return `-l ${key}${short}${option.type === 'string' ? ' -r' : ''}${choices} -d ${fishQuote(option.help)}`;
}

function fishFiles(spec: CommandSpec): string {
  return spec.arguments.some(({ maybeSandbox }) => maybeSandbox === true) ? '' : '-f ';
}

function flagsOf(spec: CommandSpec): readonly string[] {
  return Object.keys(spec.options).map((key) => `--${key}`);
}

function wordsOf(spec: CommandSpec): string {
  return spec.arguments.flatMap(({ choices }) => choices ?? []).join(' ');
}

function takesSandbox(spec: CommandSpec): boolean {
  return spec.arguments.some(({ isSandbox, maybeSandbox }) => isSandbox === true || maybeSandbox === true);
}

function choicesOf(specs: readonly Spec[]): readonly (readonly [flag: string, choices: readonly string[]])[] {
  const all = specs.flatMap(([, spec]) => Object.entries(spec.options));
  return [
    ...new Map(all.flatMap(([key, { choices }]) => (choices === undefined ? [] : [[`--${key}`, choices] as const]))),
  ];
}

function zshQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
