/** A command as data: parsing, help, completions and the reference page all derive from it. */
import type { Sublet } from '../core/api.ts';
import type { ExpectedOptions } from '../open.ts';
import type { Terminal } from './terminal.ts';

export interface OptionSpec {
  readonly type: 'boolean' | 'string';
  readonly help: string;
  /** The placeholder in help: `--timeout DURATION`. */
  readonly value?: string;
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
  readonly choices?: readonly string[];
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

export interface ArgumentSpec {
  readonly name: string;
  readonly optional?: boolean;
  /** Takes all that follow; only the last argument may. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
  /** Completed with the ids of live sandboxes. */
  readonly isSandbox?: boolean;
  /** Completed with those and with files. */
  readonly maybeSandbox?: boolean;
}

export interface CommandSpec<O extends OptionSpecs = OptionSpecs> {
  readonly summary: string;
  readonly arguments: readonly ArgumentSpec[];
  /** What stands after `--`, for commands that run a command. Options of ours end where it begins. */
  readonly rest?: { readonly name: string; readonly optional?: boolean };
  readonly options: O;
  /** Paragraphs for `--help`, after the options. */
  readonly notes?: readonly string[];
  /** A line to type and what it does. */
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /** Returns the exit status. */
  run(input: CommandInput<O>, context: CommandContext): Promise<number>;
}

export type OptionValue<S extends OptionSpec> = S['type'] extends 'boolean'
  ? boolean
  : S extends { readonly multiple: true }
    ? readonly string[]
    : string | undefined;

export interface CommandInput<O extends OptionSpecs = OptionSpecs> {
  readonly options: { readonly [K in keyof O]: OptionValue<O[K]> };
  readonly arguments: readonly string[];
  readonly rest: readonly string[];
}

/** What every command may use. Nothing is opened before it is asked for. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts when the user gives up or the reader of our output goes away. */
  readonly signal: AbortSignal;
  /** The engine, opened once; the caller of the command closes it. */
  /** Opened on first use. `expects`: the sandbox that is about to be made, so that its provider can get ready meanwhile. */
  readonly sublet: (expects?: ExpectedOptions) => Promise<Sublet>;
}

/** Identity, for the types of `options`. */
export function defineCommand<const O extends OptionSpecs>(spec: CommandSpec<O>): CommandSpec {
  return spec;
}
