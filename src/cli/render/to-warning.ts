/** What is worth a warning, for a person to read: one line. */
import type { Log } from '../../telemetry/log.ts';
import type { Terminal } from '../terminal.ts';
import { printable } from './printable.ts';

/** With what it is about: `sandbox not destroyed (sandboxId sbx_1, error …)`. */
export function toWarning(fields: object, message: string): string {
  const told = Object.entries(fields).flatMap(([name, value]: [string, unknown]) =>
    value === undefined ? [] : [`${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`],
  );
  return printable(told.length === 0 ? message : `${message} (${told.join(', ')})`);
}

export function warnOn(terminal: Terminal): Log['warn'] {
  return (fields, message) => void terminal.write('stderr', `sublet: warning: ${toWarning(fields, message)}\n`);
}
