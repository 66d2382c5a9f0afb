/** Arguments to a command's input, by its spec. Everything wrong is a USAGE error that says what to type. */
import { parseArgs } from 'node:util';
import { nearest } from '../../core/nearest.ts';
import { SubletError } from '../../core/errors.ts';
import type { CommandInput, CommandSpec, OptionSpec, OptionSpecs } from '../command.ts';

const HELP: OptionSpec = { type: 'boolean', short: 'h', help: 'show this help' };

export type ParsedCommandLine = { readonly help: true } | { readonly help: false; readonly input: CommandInput };

export function parseCommandLine(name: string, spec: CommandSpec, args: readonly string[]): ParsedCommandLine {
  const known: OptionSpecs = { ...spec.options, help: HELP };
  const { own, rest } = splitRest(spec, known, args);
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(known).map(([key, option]) => [key, emptyValue(option)]),
  );
  const positionals: string[] = [];
  for (const token of tokenize(known, own)) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind === 'option') setValue(name, known, values, token);
  }
  if (values['help'] === true) return { help: true };
  checkArguments(name, spec, positionals);
  if (spec.rest !== undefined && spec.rest.optional !== true && rest.length === 0) {
    throw usage(name, `sublet ${name} needs a command to run.`);
  }
  return { help: false, input: { options: values as CommandInput['options'], arguments: positionals, rest } };
}

export function usage(name: string, message: string): SubletError {
  return new SubletError('USAGE', message, { hint: `sublet ${name} --help shows how it is used.` });
}

type Token = NonNullable<ReturnType<typeof tokenize>>[number];

function tokenize(known: OptionSpecs, args: readonly string[]) {
  if (args.length === 0) return [];
  const options = Object.fromEntries(
    Object.entries(known).map(([key, { type, short, multiple }]) => [
      key,
      { type, ...(short && { short }), ...(multiple && { multiple }) },
    ]),
  );
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

// The sandboxed command begins at `--`, or at the first word after our own arguments: its options are not ours.
function splitRest(
  spec: CommandSpec,
  known: OptionSpecs,
  args: readonly string[],
): { own: readonly string[]; rest: readonly string[] } {
  if (spec.rest === undefined) return { own: args, rest: [] };
  // Nothing of ours: Node's parser is not loaded to say so.
  if (args[0] === '--') return { own: [], rest: args.slice(1) };
  let positionals = 0;
  for (const token of tokenize(known, args)) {
    if (token.kind === 'option-terminator')
      return { own: args.slice(0, token.index), rest: args.slice(token.index + 1) };
    if (token.kind === 'positional' && positionals++ === spec.arguments.length) {
      return { own: args.slice(0, token.index), rest: args.slice(token.index) };
    }
  }
  return { own: args, rest: [] };
}

function emptyValue(option: OptionSpec): unknown {
  if (option.type === 'boolean') return false;
  return option.multiple === true ? [] : undefined;
}

function setValue(
  name: string,
  known: OptionSpecs,
  values: Record<string, unknown>,
  token: Extract<Token, { kind: 'option' }>,
): void {
  const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
  if (option === undefined) throw unknownOption(name, known, token.rawName);
  if (option.type === 'boolean') {
    if (token.value !== undefined) throw usage(name, `${token.rawName} takes no value.`);
    values[token.name] = true;
    return;
  }
  if (token.value === undefined)
    throw usage(name, `${token.rawName} needs a value: ${token.rawName} ${option.value ?? 'VALUE'}.`);
  if (option.choices !== undefined && !option.choices.includes(token.value)) {
    throw usage(name, `${token.rawName} is one of ${option.choices.join(', ')}; "${token.value}" is not.`);
  }
  if (option.multiple === true) (values[token.name] as string[]).push(token.value);
  else values[token.name] = token.value;
}

function unknownOption(name: string, known: OptionSpecs, rawName: string): SubletError {
  const close = nearest(rawName.replace(/^-+/, ''), Object.keys(known));
  const hint = close === undefined ? `sublet ${name} --help lists its options.` : `Did you mean --${close}?`;
  return new SubletError('USAGE', `sublet ${name} has no option ${rawName}.`, { hint });
}

function checkArguments(name: string, spec: CommandSpec, given: readonly string[]): void {
  const required = spec.arguments.filter((argument) => argument.optional !== true);
  const missing = required[given.length];
  if (missing !== undefined) throw usage(name, `sublet ${name} needs ${missing.name}.`);
  const takesMany = spec.arguments.at(-1)?.many === true;
  const extra = given[spec.arguments.length];
  if (extra !== undefined && !takesMany) throw usage(name, `sublet ${name} does not know what to do with "${extra}".`);
  for (const [index, argument] of spec.arguments.entries()) {
    const value = given[index];
    if (value === undefined || argument.choices === undefined || argument.choices.includes(value)) continue;
    const close = nearest(value, argument.choices);
    throw new SubletError(
      'USAGE',
      `sublet ${name}: ${argument.name} is one of ${argument.choices.join(', ')}; "${value}" is not.`,
      {
        hint: close === undefined ? `sublet ${name} --help shows how it is used.` : `Did you mean "${close}"?`,
      },
    );
  }
}
