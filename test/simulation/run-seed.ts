/** One seed, from beginning to end. */
import { Agent } from './agent.ts';
import { checkQuietPool } from './quiet-pool.ts';
import { recover } from './recovery.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { SeedOptions, Violation } from './simulation.ts';
import { Simulation } from './simulation.ts';
import type { RunningManager, StartOptions } from './start-process.ts';
import { startProcess } from './start-process.ts';
import { addStrangers, planUpheavals } from './upheavals.ts';

export interface SeedResult {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly steps: number;
  readonly virtualMs: number;
  readonly trace: readonly string[];
}

const MAX_STEPS = 800;
/** A pool is looked after also while nobody does anything. */
const MAX_POOL_STEPS = 2_500;
/** Longer than the longest pace needs, shorter than a timer that nobody waits for. */
const MAX_VIRTUAL_MS = 15 * 60_000;

export async function runSeed(seed: number, options: SeedOptions = {}): Promise<SeedResult> {
  // From here on everything runs between two turns of the event loop.
  await Promise.resolve();
  const simulation = new Simulation(seed, options);
  const history = new History(simulation);
  await history.play();
  const { violation, timeline, trace } = simulation;
  return { seed, violation, steps: timeline.steps, virtualMs: timeline.now, trace: trace.lines };
}

class History {
  readonly #simulation: Simulation;
  readonly #running: RunningManager[] = [];
  readonly #options: StartOptions;
  readonly #atWork = new Set<SimulatedProcess>();
  #starting = 0;

  constructor(simulation: Simulation) {
    const { chance } = simulation;
    this.#simulation = simulation;
    this.#options = {
      sweepIntervalMs: chance.pick([20_000, 60_000]),
      exitDeadlineMs: 10_000,
      // Seldom enough that most of what happens is about something.
      poolIntervalMs: 3_000,
      poolPollMs: 700,
    };
  }

  async play(): Promise<void> {
    const simulation = this.#simulation;
    const { chance } = simulation;
    addStrangers(simulation);
    for (let left = chance.pick(simulation.theme.processes); left > 0; left--) await this.#start(false);
    planUpheavals(simulation, chance.fork(), {
      restart: (ended) => this.#restart(ended),
      leave: (process) => this.#leave(process),
    });
    await simulation.run(
      () => this.#isOver(),
      MAX_VIRTUAL_MS,
      simulation.theme.pool === undefined ? MAX_STEPS : MAX_POOL_STEPS,
    );
    if (simulation.violation === undefined) await checkQuietPool(simulation, this.#running);
    if (simulation.violation === undefined) await recover(simulation, this.#running, this.#options);
  }

  async #start(isPidReused: boolean): Promise<void> {
    const simulation = this.#simulation;
    const started = await startProcess(simulation, simulation.chance.pick(simulation.hosts), {
      ...this.#options,
      isPidReused,
    });
    this.#running.push(started);
    this.#atWork.add(started.process);
    const agents = Array.from({ length: simulation.chance.between(1, 2) }, () => new Agent(simulation, started).work());
    void Promise.all(agents).finally(() => this.#atWork.delete(started.process));
  }

  #leave(process: SimulatedProcess): void {
    const { manager } = this.#running.find((running) => running.process === process) ?? {};
    // As a signal is received: one that stands still leaves when it goes on.
    process.receive(0, () => void manager?.close().then(() => process.exit()));
  }

  #restart(ended: SimulatedProcess): void {
    const { chance, timeline, theme } = this.#simulation;
    this.#starting += 1;
    timeline.plan(chance.between(0, theme.paceMs), () => {
      this.#starting -= 1;
      if (!this.#simulation.isWindingDown) void this.#start(ended.chance.happens(0.5));
    });
  }

  #isOver(): boolean {
    return this.#starting === 0 && [...this.#atWork].every((process) => !process.isRunning);
  }
}
