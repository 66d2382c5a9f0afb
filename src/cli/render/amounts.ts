/** Spans of time and amounts of memory, short enough for a column. */

const UNITS: readonly (readonly [ms: number, letter: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
];

/** The two largest units: `3d4h`, `5m10s`, `0s`. */
export function formatSpan(ms: number): string {
  let left = Math.max(0, Math.floor(ms / 1_000)) * 1_000;
  const parts: string[] = [];
  for (const [unit, letter] of UNITS) {
    const count = Math.floor(left / unit);
    left -= count * unit;
    if (count > 0) parts.push(`${count}${letter}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join('') || '0s';
}

/** `in 5m`, `now` when it has passed, `-` when it never comes. */
export function formatUntil(at: number | undefined, now: number): string {
  if (at === undefined) return '-';
  return at <= now ? 'now' : `in ${formatSpan(at - now)}`;
}

/** `512B`, `1.5KiB`, `2GiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) [amount, unit] = [amount / 1024, unit + 1];
  const text = amount >= 100 || Number.isInteger(amount) ? String(Math.round(amount)) : amount.toFixed(1);
  return `${text}${units[unit] ?? ''}`;
}
