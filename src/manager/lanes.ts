/** Work on many sandboxes, a lane for each provider: one that hangs or fails delays only its own. */
import { SubletError } from '../core/errors.ts';
import type { SandboxRecord } from '../store/records.ts';

const AT_ONCE = 8;

/** Which lanes some pass of this process is at work in. Once `closing` fires nothing more is begun. */
export class Lanes {
  readonly #busy = new Set<string>();
  readonly #closing: AbortSignal;

  constructor(closing: AbortSignal) {
    this.#closing = closing;
  }

  pass(): LanePass {
    return new LanePass(this.#busy, this.#closing);
  }
}

/** One pass over many sandboxes. */
export class LanePass {
  readonly #busy: Set<string>;
  readonly #closing: AbortSignal;
  readonly #down = new Set<string>();

  constructor(busy: Set<string>, closing: AbortSignal) {
    this.#busy = busy;
    this.#closing = closing;
  }

  /**
   * Runs `work` for each record, a few at once in each lane. `work` says false when its provider does not answer: then the
   * rest of the lane is left for the next pass. So are the records of a lane in which an earlier pass is still at work.
   */
  async run(records: readonly SandboxRecord[], work: (record: SandboxRecord) => Promise<boolean>): Promise<void> {
    const lanes = new Map<string, SandboxRecord[]>();
    for (const record of records) {
      const lane = lanes.get(laneOf(record)) ?? [];
      lane.push(record);
      lanes.set(laneOf(record), lane);
    }
    await Promise.all([...lanes].map(([lane, waiting]) => this.#runLane(lane, waiting, work)));
  }

  async #runLane(
    lane: string,
    waiting: readonly SandboxRecord[],
    work: (record: SandboxRecord) => Promise<boolean>,
  ): Promise<void> {
    if (this.#busy.has(lane)) return;
    this.#busy.add(lane);
    const isOver = (): boolean => this.#down.has(lane) || this.#closing.aborted;
    try {
      for (let from = 0; from < waiting.length && !isOver(); from += AT_ONCE) {
        const done = await Promise.all(waiting.slice(from, from + AT_ONCE).map(work));
        if (done.includes(false)) this.#down.add(lane);
      }
    } finally {
      this.#busy.delete(lane);
    }
  }
}

function laneOf({ provider, profile }: SandboxRecord): string {
  return `${provider}/${profile}`;
}

/** The provider did not answer, or asked to be left alone: the next one it is asked about would fare no better. */
export function isProviderDown(cause: unknown): boolean {
  return (
    SubletError.is(cause, 'PROVIDER_UNAVAILABLE') ||
    SubletError.is(cause, 'RATE_LIMITED') ||
    SubletError.is(cause, 'PROVIDER_UNUSABLE') ||
    SubletError.is(cause, 'AUTH_FAILED')
  );
}
