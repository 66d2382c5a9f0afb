/** What somebody is destroying is left to that process for a while: never two reapers at once on one thing. */
import type { Law, RowChange } from '../laws.ts';
import type { Simulation } from '../simulation.ts';
import type { SandboxId } from '../../../src/core/ids.ts';
import type { Truth } from '../truth.ts';

/** A claim lasts a minute. */
const CLAIM_MS = 60_000;

export class OneReaper implements Law {
  readonly #simulation: Simulation;
  readonly #truth: Truth;
  readonly #claimedAt = new Map<SandboxId, number>();

  constructor(simulation: Simulation, truth: Truth) {
    this.#simulation = simulation;
    this.#truth = truth;
  }

  rowChanged({ before, after, by }: RowChange): void {
    if (after?.state !== 'destroying' || by === undefined) return;
    const { now } = this.#simulation.timeline;
    const isClaim = before?.state !== 'destroying' || before.ownerId !== after.ownerId;
    if (!isClaim) return;
    const claimedAt = this.#claimedAt.get(after.id);
    this.#claimedAt.set(after.id, now);
    const claimer = before?.state === 'destroying' ? this.#truth.processOf(before.ownerId) : undefined;
    if (before === undefined || claimer === undefined || claimedAt === undefined || claimer === by) return;
    if (now - claimedAt < CLAIM_MS && this.#truth.countsAsAlive(claimer, by, before))
      this.#simulation.violate(
        '3 nobody else is harmed',
        `${by.name} takes over the destroying of ${after.id}, which ${claimer.name} began ${now - claimedAt} ms ago`,
      );
  }
}
