/** Before a provider is asked to create anything, its row is committed, with what the copy can be found again by. */
import { LABEL } from '../../../src/core/spec.ts';
import type { SandboxSpec } from '../../../src/provider/provider.ts';
import type { Law } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';

export class IntentFirst implements Law {
  readonly #simulation: Simulation;
  readonly #asked = new Set<string>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  createAsked(by: SimulatedProcess, { name, labels }: SandboxSpec): void {
    const row = this.#simulation.sandboxes.get(labels[LABEL.sandbox] ?? '');
    if (row === undefined || row.name !== name) this.#violate(`${by.name} creates ${name}, which is not on record`);
    if (labels[LABEL.installation] !== this.#simulation.installation)
      this.#violate(`${by.name} creates ${name} without the label of its installation`);
    if (this.#asked.has(name)) this.#violate(`${by.name} creates ${name} a second time`);
    this.#asked.add(name);
  }

  #violate(message: string): void {
    this.#simulation.violate('1 intent first', message);
  }
}
