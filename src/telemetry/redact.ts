/** The last line of defence: masks what looks like a secret before it is written. Nobody should log one in the first place. */

const MASK = '***';
const SECRET_KEY =
  /(api[-_]?key|private[-_]?key|access[-_]?key|token|secret|passw(or)?d|authorization|cookie|credentials?)$/i;
const URL_LOGIN = /(:\/\/)[^/\s@]+@/g;
const BEARER = /\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi;
const MAX_DEPTH = 6;

/** A copy with secrets masked: by key name, every value under `env`, and logins inside text. Errors become plain objects. */
export function redact(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactObject(fields, 0);
}

function redactObject(value: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redactEntry(key, inner, depth)]));
}

function redactEntry(key: string, value: unknown, depth: number): unknown {
  const isScalar = value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean';
  if (SECRET_KEY.test(key) && !isScalar) return MASK;
  if (key === 'env' && typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.keys(value).map((name) => [name, MASK]));
  }
  return redactValue(value, depth + 1);
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  // Bounded, so that a cycle ends.
  if (depth > MAX_DEPTH) return '…';
  if (value instanceof Error) return redactError(value, depth);
  if (value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
  // What knows its own printed form, like a wrapped secret, keeps it.
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON(), depth + 1);
  return redactObject(value, depth);
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  return {
    type: error.name,
    message: redactText(error.message),
    ...redactObject(error, depth),
    ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: redactValue(error.cause, depth + 1) }),
  };
}

function redactText(text: string): string {
  return text.replace(URL_LOGIN, `$1${MASK}@`).replace(BEARER, `$1 ${MASK}`);
}
