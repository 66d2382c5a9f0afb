/** The logger port over pino: one JSON object per line, for programs that collect logs. */
import type { Log } from './log.ts';
import type { LogLevel } from './log-level.ts';
import { redact } from './redact.ts';

export interface PinoLogOptions {
  readonly level?: LogLevel | undefined;
  /** Default: stderr, because stdout belongs to the commands that are run. */
  readonly destination?: { write(line: string): void } | undefined;
}

/** Loads pino on the first call. */
export async function createPinoLog({ level = 'info', destination }: PinoLogOptions = {}): Promise<Log> {
  const { pino } = await import('pino');
  const logger = pino({ level, base: null, formatters: { log: redact } }, destination ?? pino.destination(2));
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}
