/** Warnings as a person reads them; `SUBLET_LOG` turns on the log with its times and fields. */
import type { Log } from '../telemetry/log.ts';

export async function createLog(env: Readonly<Record<string, string | undefined>>, warn: Log['warn']): Promise<Log> {
  if (env['SUBLET_LOG']) {
    const [{ createStderrLog }, { LOG_LEVELS, parseLogLevel }] = await Promise.all([
      import('../telemetry/stderr-log.ts'),
      import('../telemetry/log-level.ts'),
    ]);
    const level = parseLogLevel(env['SUBLET_LOG']);
    const log = createStderrLog({ level: level ?? 'warn' });
    if (level === undefined) log.warn({}, `SUBLET_LOG is ignored: it must be one of ${LOG_LEVELS.join(', ')}.`);
    return log;
  }
  return { debug() {}, info() {}, warn, error: warn };
}
