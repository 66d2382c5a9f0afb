/** One readable line per entry on stderr. What the command line uses: it loads nothing. */
import type { Log } from './log.ts';
import { isLogged, type LogLevel } from './log-level.ts';
import { redact } from './redact.ts';

export interface StderrLogOptions {
  readonly level: LogLevel;
  readonly now?: (() => number) | undefined;
  readonly write?: ((line: string) => void) | undefined;
}

export function createStderrLog({ level, now = Date.now, write = writeStderr }: StderrLogOptions): Log {
  const at =
    (entry: LogLevel): Log['info'] =>
    (fields, message) => {
      if (isLogged(entry, level)) write(formatLine(now(), entry, fields, message));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function formatLine(now: number, level: LogLevel, fields: Readonly<Record<string, unknown>>, message: string): string {
  const parts = Object.entries(redact(fields))
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${formatValue(value)}`);
  return `${[new Date(now).toISOString().slice(11, 23), level.padEnd(5), message, ...parts].join(' ')}\n`;
}

// Quoted unless plain, so that a value can neither break the line nor look like another field.
function formatValue(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@%+,*-]+$/.test(value)) return value;
  return JSON.stringify(value) ?? String(value);
}

function writeStderr(line: string): void {
  process.stderr.write(line);
}
