/** The values of a statement that is put together from parts, numbered as Postgres wants them. */
import type { SqlValue } from './driver.ts';

export class Parameters {
  readonly values: SqlValue[] = [];

  /** Its place in the statement: `$1`, `$2` … */
  add(value: SqlValue): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** Postgres counts rows in 64 bits and knows no infinity. */
export function toLimit(limit: number): number {
  return Math.min(limit, Number.MAX_SAFE_INTEGER);
}
