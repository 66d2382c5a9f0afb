import { describe, expect, it } from 'vitest';
import { SubletError } from '../../core/errors.ts';
import { defineCommand, type CommandSpec } from '../command.ts';
import { parseCommandLine } from './command-line.ts';

const exec = defineCommand({
  summary: 'run',
  arguments: [{ name: 'ID' }],
  rest: { name: 'CMD…' },
  options: {
    json: { type: 'boolean', help: '' },
    env: { type: 'string', short: 'e', multiple: true, help: '' },
    network: { type: 'string', value: 'LEVEL', choices: ['open', 'none'], help: '' },
  },
  examples: [],
  run: async () => 0,
});

const list = defineCommand({
  summary: 'list',
  arguments: [{ name: 'ACTION', optional: true, choices: ['ls', 'add'] }],
  options: {},
  examples: [],
  run: async () => 0,
});

describe('parseCommandLine', () => {
  it('takes options before and after the arguments', () => {
    expect(input(exec, ['--json', 'sbx', '-e', 'A=1', '--env=B=2', '--', 'ls', '--json'])).toEqual({
      options: { json: true, env: ['A=1', 'B=2'], network: undefined, help: false },
      arguments: ['sbx'],
      rest: ['ls', '--json'],
    });
  });

  it('leaves the options of the command to the command, also without --', () => {
    expect(input(exec, ['sbx', 'ls', '-la', '--json'])).toMatchObject({
      options: { json: false },
      arguments: ['sbx'],
      rest: ['ls', '-la', '--json'],
    });
  });

  it('keeps a second -- for the command', () => {
    expect(input(exec, ['sbx', '--', 'sh', '-c', 'x', '--', 'y'])).toMatchObject({
      rest: ['sh', '-c', 'x', '--', 'y'],
    });
  });

  it('finds --help among ours and not among the command words', () => {
    expect(parseCommandLine('exec', exec, ['-h'])).toEqual({ help: true });
    expect(parseCommandLine('exec', exec, ['sbx', '--', 'ls', '--help'])).toMatchObject({ help: false });
  });

  it.each([
    [['--jsn', 'sbx', '--', 'ls'], 'has no option --jsn', 'Did you mean --json?'],
    [['--json=1', 'sbx', '--', 'ls'], '--json takes no value', undefined],
    [['--network'], '--network needs a value: --network LEVEL', undefined],
    [['--network', 'wide', 'sbx', '--', 'ls'], '--network is one of open, none; "wide" is not', undefined],
    [['--', 'ls'], 'needs ID', undefined],
    [['sbx'], 'needs a command to run', undefined],
    [['--constructor', 'sbx', '--', 'ls'], 'has no option --constructor', undefined],
  ])('refuses %j and says what to type', (args, message, hint) => {
    const error = usageError(exec, args);
    expect(error.message).toContain(message);
    if (hint !== undefined) expect(error.hint).toBe(hint);
  });

  it('refuses a word it has no place for, and suggests a choice', () => {
    expect(usageError(list, ['ls', 'more']).message).toContain('"more"');
    expect(usageError(list, ['ad']).hint).toBe('Did you mean "add"?');
  });
});

function input(spec: CommandSpec, args: readonly string[]): unknown {
  const parsed = parseCommandLine('exec', spec, args);
  return parsed.help ? undefined : parsed.input;
}

function usageError(spec: CommandSpec, args: readonly string[]): SubletError {
  try {
    parseCommandLine('exec', spec, args);
  } catch (error) {
    if (SubletError.is(error, 'USAGE')) return error;
    throw error;
  }
  throw new Error('it was accepted');
}
