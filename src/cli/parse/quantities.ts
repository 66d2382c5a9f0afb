/** Durations, sizes and shares as people write them: `30s`, `512m`, `1.5`. */
import { parseSize } from '../../config/size.ts';
import { SubletError } from '../../core/errors.ts';

const DURATION_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `250ms`, `30s`, `5m`, `1h30m`; a bare number is seconds. No time at all is not a duration. */
export function parseDurationMs(text: string, option: string): number {
  const whole = /^\d+(\.\d+)?$/.test(text) ? `${text}s` : text;
  const isDuration = /^(\d+(\.\d+)?(ms|[smhd]))+$/.test(whole);
  let total = 0;
  for (const [, amount, unit] of isDuration ? whole.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g) : [])
    total += Number(amount) * (DURATION_MS[unit ?? ''] ?? 0);
  if (Math.round(total) === 0) throw bad(option, text, 'a duration such as 30s, 5m or 1h30m');
  return Math.round(total);
}

/** `1048576`, `512m`, `1.5GiB`; units are powers of 1024. */
export function parseSizeBytes(text: string, option: string): number {
  const bytes = parseSize(text) ?? 0;
  if (bytes <= 0) throw bad(option, text, 'a size such as 512m or 2g');
  return bytes;
}

/** `1.5` cores → 1500 thousandths. */
export function parseCpuMillis(text: string, option: string): number {
  const cores = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (cores <= 0) throw bad(option, text, 'a number of cores such as 0.5 or 2');
  return Math.round(cores * 1_000);
}

export function parseCount(text: string, option: string): number {
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) throw bad(option, text, 'a whole number');
  return Number(text);
}

function bad(option: string, text: string, wanted: string): SubletError {
  return new SubletError('USAGE', `${option} takes ${wanted}; "${text}" is not one.`);
}
