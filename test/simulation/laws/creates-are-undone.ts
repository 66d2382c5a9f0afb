/** A create that is given up on is undone by its maker, not forgotten: nothing comes after its maker has called it destroyed. */
import type { SandboxId } from '../../../src/core/ids.ts';
import type { FaultyBox } from '../../../src/testing/faulty-provider-world.ts';
import type { Law, RowChange } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';
import type { Truth } from '../truth.ts';

export class CreatesAreUndone implements Law {
  readonly #simulation: Simulation;
  readonly #truth: Truth;
  readonly #givenUpAt = new Map<SandboxId, number>();
  readonly #destroyedBy = new Map<SandboxId, SimulatedProcess>();

  constructor(simulation: Simulation, truth: Truth) {
    this.#simulation = simulation;
    this.#truth = truth;
  }

  rowChanged({ before, after, by }: RowChange): void {
    if (after === undefined || by === undefined || before?.state === after.state) return;
    const { now } = this.#simulation.timeline;
    if (after.state === 'destroying') this.#givenUpAt.set(after.id, now);
    // When it takes too long the sweep destroys what there is, and the maker what comes after that.
    const isInTime = now - (this.#givenUpAt.get(after.id) ?? 0) < after.policy.timeoutSeconds * 1000;
    if (after.state === 'destroyed' && isInTime) this.#destroyedBy.set(after.id, by);
  }

  boxAdded(box: FaultyBox, by: SimulatedProcess | undefined): void {
    const row = this.#truth.recordOf(box);
    // What was answered with a failure and is done all the same is for the comparison with the provider's list to find.
    if (row?.state !== 'destroyed' || by === undefined || !by.isRunning || this.#simulation.isDoneLate) return;
    if (this.#destroyedBy.get(row.id) === by && !this.#truth.isLicensed(row, row.cause))
      this.#simulation.violate(
        '1 intent first',
        `${by.name} has called ${row.id} destroyed while it was still making it`,
      );
  }
}
