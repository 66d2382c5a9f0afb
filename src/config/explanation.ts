/** The rows of `sublet config explain`: each value and where it came from. */
import type { Mount } from '../core/spec.ts';
import { MASK } from './secret.ts';
import type { Sourced, ValueSource } from './sourced.ts';

export interface ExplainRow {
  /** As a profile file spells it. */
  readonly path: string;
  /** undefined when nothing sets it; `***` for a secret. */
  readonly value: unknown;
  readonly source: ValueSource;
}

/** Collects rows while values are resolved. */
export class Explanation {
  readonly rows: ExplainRow[] = [];

  /** Returns the bare value. */
  add<T>(path: string, { value, source }: Sourced<T>): T {
    this.rows.push({ path, value, source });
    return value;
  }

  addSecret(path: string, source: ValueSource): void {
    this.rows.push({ path, value: MASK, source });
  }

  addMount(index: number, { value: mount, source }: Sourced<Mount>): Mount {
    this.rows.push({
      path: `mounts.${index}`,
      value: `${mount.source}:${mount.target}:${mount.readOnly === false ? 'rw' : 'ro'}`,
      source,
    });
    return mount;
  }
}
