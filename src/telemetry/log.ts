/** The logger port. Fields first, then a constant sentence; no secret is ever a field. */

export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** The null object: a library says nothing unless asked. */
export const silentLog: Log = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} });
