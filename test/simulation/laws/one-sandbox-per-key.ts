/** A key has one sandbox; another takes its place only when that one is gone, was never ready, or cannot be cut off. */
import type { SandboxRecord, SessionRecord } from '../../../src/store/records.ts';
import type { Law, SessionChange } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';
import type { Truth } from '../truth.ts';

export class OneSandboxPerKey implements Law {
  readonly #simulation: Simulation;
  readonly #truth: Truth;

  constructor(simulation: Simulation, truth: Truth) {
    this.#simulation = simulation;
    this.#truth = truth;
  }

  sessionChanged({ key, before, after, by }: SessionChange): void {
    if (before === undefined || before.sandboxId === after?.sandboxId) return;
    const old = this.#simulation.sandboxes.get(before.sandboxId);
    if (old === undefined || this.#mayBeReplaced(old, after, by)) return;
    const what = after === undefined ? 'forgets it' : `binds it to ${after.sandboxId}`;
    this.#simulation.violate(
      '4 one key, one sandbox',
      `${by?.name ?? 'nobody'} ${what} while ${old.id} of ${key} is ${old.state}`,
    );
  }

  #mayBeReplaced(old: SandboxRecord, after: SessionRecord | undefined, by: SimulatedProcess | undefined): boolean {
    switch (old.state) {
      case 'destroying':
      case 'destroyed':
      case 'lost':
        return true;
      case 'creating':
        return this.#isGivenUp(old, by);
      case 'running':
      case 'paused':
      case 'stopped':
        return after !== undefined && this.#truth.isTooOpen(old);
    }
  }

  #isGivenUp(old: SandboxRecord, by: SimulatedProcess | undefined): boolean {
    const owner = this.#truth.processOf(old.ownerId);
    if (owner === undefined || owner === by || !owner.isRunning) return true;
    return this.#truth.isOverdue(old);
  }
}
