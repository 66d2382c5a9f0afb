/** Nobody gets what another used, there are never too many, nobody is overtaken, and whoever asks is answered in time. */
import type { SandboxId } from '../../../src/core/ids.ts';
import type { SandboxRecord } from '../../../src/store/records.ts';
import { isLive } from '../../../src/core/states.ts';
import { ENGINES_OWN } from '../engines-own.ts';
import type { Law, RowChange } from '../laws.ts';
import type { FaultyBox } from '../../../src/testing/faulty-provider-world.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';

/** One that is woken may take half a minute beyond the caller’s time; and the way to the store and back, several times, at its slowest. */
const ANSWER_SLACK_MS = 75_000;
/** Somebody who came so much earlier was there first, whatever the wire did. */
const CAME_EARLIER_MS = 3_000;

export class PoolsAreClean implements Law {
  readonly #simulation: Simulation;
  /** Who last used it, by the token of the lease. */
  readonly #usedWith = new Map<string, number>();
  readonly #cameAt = new Map<number, number>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    simulation.tickets.watch((number, before) => {
      if (before === undefined) this.#cameAt.set(number, simulation.timeline.now);
    });
  }

  asked(by: SimulatedProcess, timeoutMs: number): () => void {
    const { timeline } = this.#simulation;
    const startedAt = timeline.now;
    let isAnswered = false;
    const limitMs = timeoutMs + ANSWER_SLACK_MS;
    const look = (): void => {
      if (isAnswered || !by.isRunning) return;
      // Who stands still cannot hear the answer.
      const frozenMs = by.longestFreezeSince(startedAt);
      if (by.isFrozen || timeline.now - startedAt < limitMs + 2 * frozenMs) timeline.plan(limitMs, look);
      else this.#violate(`${by.name} asked the pool ${timeline.now - startedAt} ms ago and has no answer`);
    };
    timeline.plan(limitMs, look);
    return () => (isAnswered = true);
  }

  commandStarts(_by: SimulatedProcess, boxName: string, command: string): void {
    if (ENGINES_OWN.includes(command)) return;
    const row = this.#rowOf(boxName);
    if (row?.pool === undefined) return;
    if (row.lease === undefined && isIdle(row))
      this.#violate(`"${command}" runs in ${row.id}, which waits in the pool`);
    this.#usedWith.set(boxName, row.fence);
  }

  boxRenewed({ name }: FaultyBox): void {
    this.#usedWith.delete(name);
  }

  rowChanged({ before, after, by }: RowChange): void {
    if (after?.pool === undefined) return;
    if (before === undefined) this.#checkTotal(after.pool);
    const isTaken = before?.lease === undefined && after.lease !== undefined;
    if (before === undefined || !isTaken) return;
    const used = this.#usedWith.get(after.name);
    if (used !== undefined && used < (after.lease?.token ?? 0))
      this.#violate(`${by?.name} gets ${after.id}, in which the holder of lease ${used} ran something, as it was left`);
    if (by !== undefined && after.lease !== undefined)
      this.#checkOrder(before, by, after.lease.expiresAt - after.lease.ttlMs);
  }

  #checkTotal(pool: string): void {
    const most = this.#simulation.theme.pool?.maxTotal ?? Infinity;
    const count = [...this.#simulation.sandboxes.values()].filter(
      (row) => row.pool === pool && isLive(row.state),
    ).length;
    if (count > most) this.#violate(`there are ${count} of the pool, and there may be ${most}`);
  }

  /** The row is still among those that were there; so is the place in the queue of whoever takes it. */
  #checkOrder(taken: SandboxRecord, by: SimulatedProcess, at: number): void {
    const { tables, laws, isClockSet, taking } = this.#simulation;
    const first = taking?.ticket ?? Infinity;
    const tickets = [...tables.tickets.values()].filter(({ lane }) => lane === taken.lane);
    // Who names a sandbox by its id does not queue.
    if (isClockSet || taking === undefined) return;
    const earlier = tickets.filter(({ number, ownerId, untilAt }) => {
      const process = laws.truth.processOf(ownerId);
      // Who has not been heard of for a term has lost its place.
      if (number >= first || process === undefined || !process.isRunning || untilAt <= at) return false;
      return process.longestFreezeSince(0) === 0 && process.aheadMs === by.aheadMs && this.#cameEarlier(number);
    });
    const there = [...tables.sandboxes.values()].filter(
      (row) => row.id === taken.id || (row.lane === taken.lane && row.lease === undefined && isIdle(row)),
    );
    if (there.length <= earlier.length)
      this.#violate(
        `${by.name} takes ${taken.id} before ${earlier.length} who came earlier, and there are ${there.length}`,
      );
  }

  #cameEarlier(number: number): boolean {
    return this.#simulation.timeline.now - (this.#cameAt.get(number) ?? Infinity) > CAME_EARLIER_MS;
  }

  #rowOf(name: string): SandboxRecord | undefined {
    return [...this.#simulation.sandboxes.values()].find((row) => row.name === name);
  }

  #violate(message: string): void {
    this.#simulation.violate('14 pools are clean and fair', message);
  }
}

function isIdle({ state }: { readonly id: SandboxId; readonly state: SandboxRecord['state'] }): boolean {
  return state === 'running' || state === 'paused';
}
