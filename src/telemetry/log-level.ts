/** How much is logged. */

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The level a variable names, or undefined when it names none. */
export function parseLogLevel(text: string | undefined): LogLevel | undefined {
  const wanted = text?.trim().toLowerCase();
  return LOG_LEVELS.find((level) => level === wanted);
}

export function isLogged(entry: LogLevel, threshold: LogLevel): boolean {
  return LOG_LEVELS.indexOf(entry) >= LOG_LEVELS.indexOf(threshold);
}
