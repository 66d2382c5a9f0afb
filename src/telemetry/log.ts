/** The logger port. Fields first, then a constant sentence; no secret is ever a field. */

export interface Log {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** What a program gets that brings no log: Node prints warnings, and a program can listen for them or turn them off. */
export const warningLog: Log = Object.freeze({ debug() {}, info() {}, warn: emit, error: emit });

function emit({ error }: Readonly<Record<string, unknown>>, message: string): void {
  process.emitWarning(typeof error === 'string' ? `${message}: ${error}` : message, 'SubletWarning');
}

/** The null object, for whoever wants to hear nothing. */
export const silentLog: Log = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} });
