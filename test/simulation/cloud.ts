/** The provider's side: the faulty world, seen by the laws whenever a sandbox comes, goes or changes. */
import { LABEL } from '../../src/core/spec.ts';
import type { SandboxSpec } from '../../src/provider/provider.ts';
import type { FaultyBox } from '../../src/testing/faulty-provider-world.ts';
import { FaultyWorld } from '../../src/testing/faulty-provider-world.ts';
import type { Simulation } from './simulation.ts';

export class Cloud extends FaultyWorld {
  readonly #simulation: Simulation;

  constructor(simulation: Simulation) {
    const { timeline, chance } = simulation;
    const random = chance.fork();
    super(
      {
        now: () => Date.UTC(2030, 0, 1) + timeline.now,
        elapsed: () => timeline.now,
        schedule(ms, callback) {
          const planned = timeline.plan(ms, callback);
          return () => (planned.isOff = true);
        },
      },
      { random: (length) => random.bytes(length), listingLagMs: simulation.climate.listingLagMs },
    );
    this.#simulation = simulation;
  }

  isOurs(box: FaultyBox): boolean {
    return box.labels[LABEL.installation] === this.#simulation.installation;
  }

  override add(spec: SandboxSpec): FaultyBox {
    const box = super.add(spec);
    this.#simulation.laws?.boxAdded(box);
    this.#simulation.trace.note('cloud', () => `${box.name} is there, network ${box.network}`);
    return box;
  }

  override renew(box: FaultyBox): void {
    super.renew(box);
    this.#simulation.laws.boxRenewed(box);
    this.#simulation.trace.note('cloud', () => `${box.name} is as it was made`);
  }

  override remove(name: string): void {
    for (const box of this.boxes) if (box.name === name) this.#simulation.laws.boxRemoving(box);
    super.remove(name);
    this.#simulation.trace.note('cloud', () => `${name} is gone`);
  }

  override setState(box: FaultyBox, state: FaultyBox['state']): void {
    if (box.state !== state) this.#simulation.laws.boxChanging(box, state);
    super.setState(box, state);
    this.#simulation.trace.note('cloud', () => `${box.name} is ${state}`);
  }
}
