/** Times two things by turns, so that whatever else the machine does falls on both. */

export interface Distribution {
  readonly median: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
}

export interface ComparisonPlan {
  readonly ours: () => Promise<unknown>;
  readonly raw: () => Promise<unknown>;
  readonly rounds: number;
  /** Rounds whose times are thrown away. Default a tenth, at least 3. */
  readonly warmUp?: number;
  /** Before each round, not timed. */
  readonly prepare?: () => Promise<unknown>;
}

export interface Comparison {
  readonly ours: Distribution;
  readonly raw: Distribution;
}

/** Milliseconds. */
export async function compare(plan: ComparisonPlan): Promise<Comparison> {
  const warmUp = plan.warmUp ?? Math.max(3, Math.ceil(plan.rounds / 10));
  const ours: number[] = [];
  const raw: number[] = [];
  const turns = [
    { work: plan.ours, times: ours },
    { work: plan.raw, times: raw },
  ];
  for (let round = -warmUp; round < plan.rounds; round++) {
    await plan.prepare?.();
    // Each goes first every other round: neither always pays for what the other leaves behind.
    for (const { work, times } of round % 2 === 0 ? turns : turns.toReversed()) {
      const ms = await time(work);
      if (round >= 0) times.push(ms);
    }
  }
  return { ours: distribution(ours), raw: distribution(raw) };
}

/** Milliseconds. */
export async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

export function distribution(values: readonly number[]): Distribution {
  const sorted = [...values].toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  return { median: at(0.5), p99: at(0.99), min: at(0), max: at(1), count: sorted.length };
}

/** A value that was measured once. */
export function single(value: number): Distribution {
  return distribution([value]);
}

/** Each value turned into another, e.g. a time into a rate. */
export function mapDistribution(of: Distribution, change: (value: number) => number): Distribution {
  return {
    median: change(of.median),
    p99: change(of.p99),
    min: change(of.min),
    max: change(of.max),
    count: of.count,
  };
}
