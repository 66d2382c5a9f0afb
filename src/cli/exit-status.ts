/** How a command in a sandbox ended, as this process's exit status. */
import { constants } from 'node:os';
import type { CommandExit } from '../core/commands.ts';

const TIMED_OUT = 124;
const SIGNAL_BASE = 128;
/** As sysexits' EX_SOFTWARE: nobody can say how the command ended. */
const UNKNOWN = 70;

export interface ExitStatus {
  readonly status: number;
  /** What the user must be told because the number alone does not say it. */
  readonly message?: string;
}

export function toExitStatus(exit: CommandExit): ExitStatus {
  if (exit.timedOut) return { status: TIMED_OUT, message: 'the command ran out of time and was killed' };
  if (exit.exitCode !== null) return { status: exit.exitCode };
  const number = exit.signal === undefined ? undefined : signalNumber(exit.signal);
  if (number !== undefined) return { status: SIGNAL_BASE + number };
  return { status: UNKNOWN, message: 'it is not known how the command ended' };
}

function signalNumber(name: string): number | undefined {
  return (constants.signals as Readonly<Record<string, number | undefined>>)[name];
}
