/** What a pool has counted, as lines that a person reads. */
import type { PoolHistogram, PoolStats } from '../../core/pools.ts';
import type { Column } from './rows.ts';

export interface StatRow {
  readonly what: string;
  readonly value: string;
}

export const STAT_COLUMNS: readonly Column<StatRow>[] = [
  { title: 'COUNTED', value: (row) => row.what },
  { title: 'VALUE', value: (row) => row.value },
];

export function toStatRows(stats: PoolStats): readonly StatRow[] {
  const { hits, misses, discards } = stats;
  const asked = hits + misses;
  const rate = asked === 0 ? '' : ` (${Math.round((100 * hits) / asked)}%)`;
  const row = (what: string, value: number): StatRow => ({ what, value: String(value) });
  return [
    { what: 'hits', value: `${hits}${rate}` },
    row('misses', misses),
    row('waits', stats.waits),
    row('time-outs', stats.timeouts),
    row('outside', stats.outside),
    row('made', stats.made),
    row('create failures', stats.createFailures),
    row('resets', stats.resets),
    ...Object.entries(discards).map(([reason, count]) => row(`discarded: ${reason}`, count)),
    ...toRows('waited', stats.wait),
    ...toRows('age', stats.age),
  ];
}

// Buckets that add nothing to the one before are left out.
function toRows(what: string, { buckets, count, sumMs }: PoolHistogram): readonly StatRow[] {
  if (count === 0) return [];
  const rows = buckets
    .filter((bucket, index) => bucket.count > (buckets[index - 1]?.count ?? 0))
    .map((bucket) => ({ what: `${what} ≤ ${span(bucket.atMostMs)}`, value: String(bucket.count) }));
  return [...rows, { what: `${what}, on average`, value: span(sumMs / count) }];
}

function span(ms: number): string {
  return ms < 1_000 ? `${Number(ms.toPrecision(3))} ms` : `${Number((ms / 1_000).toPrecision(3))} s`;
}
