/** What happened in pools, counted in memory and written with the next batch. */
import type { PoolHistogram, PoolStats } from '../../core/pools.ts';
import type { TallyRow } from '../../store/pools.ts';

export const WAIT_BUCKETS_MS: readonly number[] = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 30_000];
export const AGE_BUCKETS_MS: readonly number[] = [1_000, 10_000, 60_000, 600_000, 3_600_000];

const DISCARD = 'discard:';

export type PoolEventName = 'hits' | 'misses' | 'waits' | 'timeouts' | 'outside' | 'made' | 'createFailures' | 'resets';

export class PoolTallies {
  #rows = new Map<string, TallyRow>();

  count(pool: string, name: PoolEventName): void {
    this.#add(pool, name, 1);
  }

  discard(pool: string, reason: string): void {
    this.#add(pool, DISCARD + reason, 1);
  }

  handedOver(pool: string, waitMs: number, ageMs: number): void {
    this.#observe(pool, 'wait', waitMs, WAIT_BUCKETS_MS);
    this.#observe(pool, 'age', ageMs, AGE_BUCKETS_MS);
  }

  unwritten(pool: string): readonly TallyRow[] {
    return [...this.#rows.values()].filter((row) => row.pool === pool);
  }

  take(): readonly TallyRow[] {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    return rows;
  }

  #observe(pool: string, what: 'wait' | 'age', ms: number, buckets: readonly number[]): void {
    const bucket = buckets.find((atMost) => ms <= atMost);
    if (bucket !== undefined) this.#add(pool, `${what}:${bucket}`, 1);
    this.#add(pool, `${what}:count`, 1);
    this.#add(pool, `${what}:sum`, ms);
  }

  #add(pool: string, name: string, value: number): void {
    const key = `${pool}\0${name}`;
    this.#rows.set(key, { pool, name, value: (this.#rows.get(key)?.value ?? 0) + value });
  }
}

export function toPoolStats(rows: readonly TallyRow[]): PoolStats {
  const sums = new Map<string, number>();
  for (const { name, value } of rows) sums.set(name, (sums.get(name) ?? 0) + value);
  const of = (name: string): number => sums.get(name) ?? 0;
  const histogram = (what: string, buckets: readonly number[]): PoolHistogram => {
    let count = 0;
    const counted = buckets.map((atMostMs) => ({ atMostMs, count: (count += of(`${what}:${atMostMs}`)) }));
    return { buckets: counted, count: of(`${what}:count`), sumMs: of(`${what}:sum`) };
  };
  const discards = [...sums].filter(([name]) => name.startsWith(DISCARD));
  return {
    hits: of('hits'),
    misses: of('misses'),
    waits: of('waits'),
    timeouts: of('timeouts'),
    outside: of('outside'),
    made: of('made'),
    createFailures: of('createFailures'),
    resets: of('resets'),
    discards: Object.fromEntries(discards.map(([name, value]) => [name.slice(DISCARD.length), value])),
    wait: histogram('wait', WAIT_BUCKETS_MS),
    age: histogram('age', AGE_BUCKETS_MS),
  };
}
