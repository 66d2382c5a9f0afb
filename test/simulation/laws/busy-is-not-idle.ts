/** What runs is not idle: no idle action while a command has been running that could be known of. */
import type { SandboxRecord } from '../../../src/store/records.ts';
import type { Law, RowChange } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';
import type { InnerCommand, Truth } from '../truth.ts';

/** Activity is written down every 15 seconds, and a write may fail; what began later than this may not be known yet. */
const KNOWN_AFTER_MS = 40_000;

const COMMITTED_WITHIN_MS = 5_000;

export class BusyIsNotIdle implements Law {
  readonly #simulation: Simulation;
  readonly #truth: Truth;

  constructor(simulation: Simulation, truth: Truth) {
    this.#simulation = simulation;
    this.#truth = truth;
  }

  rowChanged({ before, after, by }: RowChange): void {
    if (before === undefined || after === undefined || before.state === after.state) return;
    if (by !== undefined) this.#checkAge(before, after.cause, by);
    if (before.state !== 'running' || !after.cause.startsWith('idle for')) return;
    // A pause that was answered with a failure and done all the same: nothing runs in it.
    if (this.#simulation.cloud.find(before.name)?.state !== 'running') return;
    const busy = this.#truth.commandsIn(before.name).find((command) => this.#isKnown(command, by));
    if (busy === undefined) return;
    const seconds = Math.round((this.#simulation.timeline.now - busy.since) / 1000);
    this.#simulation.violate(
      '7 busy is not idle',
      `${by?.name ?? 'nobody'} takes ${before.id} for idle; a command of ${busy.by.name} has run in it for ${seconds} s`,
    );
  }

  /** Nothing is idle for longer than it has been there, whatever is done to a clock while a process runs. */
  #checkAge({ id, state }: SandboxRecord, cause: string, by: SimulatedProcess): void {
    const minutes = Number(/^(?:idle for|older than) (\d+) minutes/.exec(cause)?.[1] ?? 0);
    const aheadMs = by.aheadMs - Math.min(...this.#simulation.processes.map((process) => process.aheadMs));
    // Its row is dated when it is planned, and committed a little later, or much if its maker stood still.
    const plannedMs = COMMITTED_WITHIN_MS + (this.#truth.makerOf(id)?.longestFreezeSince(0) ?? 0);
    if (state === 'destroying' || this.#truth.ageMs(id) + aheadMs + plannedMs >= minutes * 60_000) return;
    const seconds = Math.round(this.#truth.ageMs(id) / 1000);
    this.#simulation.violate('7 busy is not idle', `${id} is taken for ${cause}; it has been there for ${seconds} s`);
  }

  #isKnown({ by: user, since }: InnerCommand, by: SimulatedProcess | undefined): boolean {
    // The shared record of activity is an instant: to a machine whose clock is far ahead it is long ago.
    if (by !== undefined && by.aheadMs > user.aheadMs) return false;
    return user.isRunning && !user.isFrozen && this.#simulation.timeline.now - since >= KNOWN_AFTER_MS;
  }
}
