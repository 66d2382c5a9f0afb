/** Sizes as people write them: `512m`, `1.5GiB`, `2g`. Units are powers of 1024, as memory limits are. */

const SIZE = /^(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:i?b)?|b)?$/i;
const POWERS: Readonly<Record<string, number>> = { k: 1, m: 2, g: 3, t: 4 };

/** Whole bytes, or undefined when the text is not a size. */
export function parseSize(text: string): number | undefined {
  const match = SIZE.exec(text.trim());
  if (match === null) return undefined;
  const bytes = Math.round(Number(match[1]) * 1024 ** (POWERS[match[2]?.toLowerCase() ?? ''] ?? 0));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
