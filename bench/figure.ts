/** One line of the results: ours, the raw thing of the same run, their ratio, and what it has to be. */
import type { Distribution } from './measure.ts';

export type Unit = 'ms' | 'µs' | 'MiB' | '/s' | 'of them';

export interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly ours: Distribution;
  readonly raw: Distribution;
  /** What the raw thing is. */
  readonly against: string;
  readonly target?: Target | undefined;
}

export interface Target {
  /** The ratio of the medians, or our median or maximum by itself. */
  readonly of: 'ratio' | 'median' | 'max';
  readonly atMost: number;
}

/** What could not be measured here, and why. */
export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

export type Result = Figure | LeftOut;

/** Measures one subject. Numbers only: whether they are good enough is for the reader of the table. */
export type Subject = () => Promise<readonly Result[]>;

export type Verdict = 'ok' | 'over' | '';

export function isLeftOut(result: Result): result is LeftOut {
  return 'reason' in result;
}

/** Of the medians: below 1 is better than the raw thing, except for rates. */
export function ratioOf({ ours, raw }: Figure): number {
  return ours.median / raw.median;
}

/** Of the best of each: what is left when the machine's other work is taken away. */
export function bestRatioOf({ ours, raw }: Figure): number {
  return ours.min / raw.min;
}

export function verdictOf(figure: Figure): Verdict {
  if (figure.target === undefined) return '';
  const value = figure.target.of === 'ratio' ? ratioOf(figure) : figure.ours[figure.target.of];
  return value <= figure.target.atMost ? 'ok' : 'over';
}

export const COLUMNS = ['subject', 'ours', 'p99', 'min', 'raw', 'against', 'ratio', 'best', 'target', ''] as const;

/** Cells in the order of `COLUMNS`. */
export function toCells(result: Result): readonly string[] {
  if (isLeftOut(result)) return [result.name, '', '', '', '', `left out: ${result.reason}`, '', '', '', ''];
  const { name, unit, ours, raw, against } = result;
  return [
    name,
    `${amount(ours.median)} ${unit}`,
    ours.count > 1 ? amount(ours.p99) : '',
    ours.count > 1 ? amount(ours.min) : '',
    `${amount(raw.median)} ${unit}`,
    against,
    `${ratio(ratioOf(result))}×`,
    ours.count > 1 && raw.count > 1 ? `${ratio(bestRatioOf(result))}×` : '',
    targetText(result),
    verdictOf(result),
  ];
}

function targetText({ target, unit }: Figure): string {
  if (target === undefined) return '';
  if (target.of === 'ratio') return `≤ ${target.atMost}×`;
  return `≤ ${target.atMost} ${unit}${target.of === 'max' ? ' worst' : ''}`;
}

function amount(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 3);
}

function ratio(value: number): string {
  return Number.isFinite(value) ? value.toFixed(value < 0.1 ? 3 : 2) : '–';
}
