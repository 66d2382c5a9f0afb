/** The options that say how a command in a sandbox is run. */
import type { CommandInput, OptionSpec } from '../command.ts';
import { parseDurationMs } from './quantities.ts';

export const COMMAND_OPTIONS = {
  cwd: { type: 'string', value: 'DIR', help: 'directory inside to run it in' },
  timeout: { type: 'string', value: 'DURATION', help: 'kill it after this long, such as 30s or 5m' },
  json: { type: 'boolean', help: 'print the result as one JSON object at the end' },
} as const satisfies Record<string, OptionSpec>;

export interface CommandOptionValues {
  readonly cwd: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly json: boolean;
}

export function toCommandOptions(values: CommandInput<typeof COMMAND_OPTIONS>['options']): CommandOptionValues {
  return {
    cwd: values.cwd,
    timeoutMs: values.timeout === undefined ? undefined : parseDurationMs(values.timeout, '--timeout'),
    json: values.json,
  };
}
