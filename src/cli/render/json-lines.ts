/** Data for programs: one JSON object a line, instants as ISO-8601. */

export function toJsonLine(value: unknown): string {
  return `${JSON.stringify(value, writeInstants)}\n`;
}

export function toJsonLines(values: readonly unknown[]): string {
  return values.map(toJsonLine).join('');
}

// By our naming rule a number under `at` or `…At` is an instant.
function writeInstants(key: string, value: unknown): unknown {
  const isInstant = typeof value === 'number' && (key === 'at' || key.endsWith('At'));
  return isInstant ? new Date(value).toISOString() : value;
}
