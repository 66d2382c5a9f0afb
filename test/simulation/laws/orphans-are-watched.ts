/** What nobody claims is destroyed only after it has been so for a while. */
import type { SandboxId } from '../../../src/core/ids.ts';
import type { FaultyBox } from '../../../src/testing/faulty-provider-world.ts';
import type { Law, RowChange } from '../laws.ts';
import type { Simulation } from '../simulation.ts';
import type { Truth } from '../truth.ts';

/** The specification, said again: the engine's own constant proves nothing about itself. */
const GRACE_MS = 2 * 60_000;

export class OrphansAreWatched implements Law {
  readonly #simulation: Simulation;
  readonly #truth: Truth;
  readonly #unclaimedSince = new Map<SandboxId, number>();

  constructor(simulation: Simulation, truth: Truth) {
    this.#simulation = simulation;
    this.#truth = truth;
  }

  rowChanged({ before, after, by }: RowChange): void {
    if (after === undefined) return;
    const { timeline, isClockSet } = this.#simulation;
    // What a provider only said it had destroyed has been nobody's all along.
    if ((after.state === 'destroyed' || after.state === 'lost') && !this.#unclaimedSince.has(after.id))
      this.#unclaimedSince.set(after.id, timeline.now);
    if (before?.state !== 'destroyed' || after.state !== 'destroying' || isClockSet) return;
    // Who acts on a list that is out of date destroys what is already gone.
    if (this.#simulation.cloud.find(after.name) === undefined) return;
    const ageMs = timeline.now - (this.#unclaimedSince.get(after.id) ?? 0);
    if (ageMs < GRACE_MS)
      this.#simulation.violate(
        '3 nobody else is harmed',
        `${by?.name ?? 'nobody'} destroys the orphan ${after.id} after ${ageMs} ms (${after.cause})`,
      );
  }

  boxAdded(box: FaultyBox): void {
    const row = this.#truth.recordOf(box);
    if (row?.state === 'destroyed') this.#unclaimedSince.set(row.id, this.#simulation.timeline.now);
  }
}
