/** What a living process has is left alone by all others, and so is what is not ours. */
import type { SandboxState } from '../../../src/core/states.ts';
import type { SandboxRecord } from '../../../src/store/records.ts';
import type { FaultyBox } from '../../../src/testing/faulty-provider-world.ts';
import type { Law, RowChange } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';
import type { Truth } from '../truth.ts';

const HELD: readonly SandboxState[] = ['creating', 'running', 'paused', 'stopped'];

/** A user wants it off the network, and the provider does not do it. */
const UNCUT = 'its network could not be cut';

/** Not because a policy says that it is idle or old. */
const OWNER_WENT = 'its owner';

export class NobodyHarmed implements Law {
  readonly #simulation: Simulation;
  readonly #truth: Truth;

  constructor(simulation: Simulation, truth: Truth) {
    this.#simulation = simulation;
    this.#truth = truth;
  }

  rowChanged({ before, after, by }: RowChange): void {
    if (before === undefined || after === undefined || by === undefined || !isTakenAway(before.state, after.state))
      return;
    const truth = this.#truth;
    if (after.state === 'lost' && !truth.isSaidGone(before.name))
      this.#violate(`${by.name} takes ${before.id} for lost, and the provider told nobody that it is gone`);
    const owner = this.#harmed(before, after.cause, by);
    if (owner === undefined) return;
    // What waits in a pool is the pool's, whoever made it.
    if (before.pool !== undefined && before.lease === undefined && before.state !== 'creating') return;
    if (
      truth.isMaker(by, before) ||
      truth.isLicensed(before, after.cause) ||
      !truth.isBound(before) ||
      truth.isOverdue(before)
    )
      return;
    if (after.cause === UNCUT && truth.isTooOpen(before)) return;
    if (after.state === 'lost' && truth.isSaidGone(before.name)) return;
    this.#violate(
      `${by.name} moves ${before.id} from ${before.state} to ${after.state} (${after.cause}), but ${owner.name} has it and lives`,
    );
  }

  /** Who has it, lives, and does not do this itself. Of a session's also those that had it before, if it is done because its owner went. */
  #harmed(row: SandboxRecord, cause: string, by: SimulatedProcess): SimulatedProcess | undefined {
    const truth = this.#truth;
    const owner = truth.holderOf(row);
    // Who gave a pool's sandbox back has no way to use it.
    const isShared = !row.ephemeral && row.pool === undefined;
    const others = isShared && cause.includes(OWNER_WENT) ? truth.everHeldBy(row) : [];
    return [owner, ...others].find((one) => one !== undefined && one !== by && truth.countsAsAlive(one, by, row));
  }

  boxRemoving(box: FaultyBox, by: SimulatedProcess | undefined): void {
    if (by === undefined) return;
    if (!this.#simulation.cloud.isOurs(box)) this.#violate(`${by.name} destroys ${box.name}, which is not ours`);
    const row = this.#truth.recordOf(box);
    if (row !== undefined && row.state !== 'destroying' && row.state !== 'destroyed')
      this.#violate(`${by.name} destroys ${box.name}, whose row says ${row.state}`);
  }

  boxChanging(box: FaultyBox, to: FaultyBox['state'], by: SimulatedProcess | undefined): void {
    if (by !== undefined && !this.#simulation.cloud.isOurs(box))
      this.#violate(`${by.name} makes ${box.name} ${to}, which is not ours`);
  }

  #violate(message: string): void {
    this.#simulation.violate('3 nobody else is harmed', message);
  }
}

function isTakenAway(from: SandboxState, to: SandboxState): boolean {
  if (!HELD.includes(from)) return false;
  return to === 'destroying' || to === 'lost' || (from === 'running' && (to === 'paused' || to === 'stopped'));
}
