/** The end of a history: troubles cease, one fresh manager cleans up, and then nothing may be left over. */
import { isLive } from '../../src/core/states.ts';
import type { SandboxRecord } from '../../src/store/records.ts';
import type { Simulation } from './simulation.ts';
import type { RunningManager, StartOptions } from './start-process.ts';
import { startProcess } from './start-process.ts';

const ROUND_MS = 60_000;
const MAX_ROUNDS = 24;
const MAX_STEPS_A_ROUND = 3_000;

/** Ends what still runs, one way or another, and cleans up. Breaks law 2 when something is left. */
export async function recover(
  simulation: Simulation,
  running: readonly RunningManager[],
  options: StartOptions,
): Promise<void> {
  simulation.trace.note('', () => 'the troubles cease');
  simulation.isWindingDown = true;
  simulation.climate.heal();
  for (const one of running) end(simulation, one);
  await pass(simulation, 2 * ROUND_MS);
  const cleaners = await startCleaners(simulation, options);
  let cleanRounds = 0;
  for (let round = 0; round < MAX_ROUNDS && cleanRounds < 2; round++) {
    let left = cleaners.length;
    for (const { manager } of cleaners) {
      const cleaning: Promise<unknown> = round % 2 === 0 ? manager.sweep() : manager.reap();
      cleaning.catch((cause: unknown) => simulation.violate('recovery ends', String(cause))).finally(() => (left -= 1));
    }
    await simulation.run(() => left === 0, Infinity, MAX_STEPS_A_ROUND);
    if (simulation.violation !== undefined) return;
    if (left > 0) simulation.violate('recovery ends', 'a sweep under good conditions does not end');
    await pass(simulation, ROUND_MS);
    cleanRounds = leaks(simulation).length === 0 ? cleanRounds + 1 : 0;
  }
  const [leak] = leaks(simulation);
  if (leak !== undefined) simulation.violate('2 nothing leaks', leak);
  checkStrangers(simulation);
}

/** One, or some that get in each other's way. */
async function startCleaners(simulation: Simulation, options: StartOptions): Promise<readonly RunningManager[]> {
  const { chance, hosts } = simulation;
  const cleaners: RunningManager[] = [];
  for (let left = chance.pick([1, 1, 2, 3]); left > 0; left--)
    cleaners.push(
      await startProcess(simulation, chance.pick(hosts), { ...options, sweepIntervalMs: 0, touchIntervalMs: 0 }),
    );
  return cleaners;
}

function isLeasedByLiving({ laws }: Simulation, { lease }: SandboxRecord): boolean {
  return lease !== undefined && laws.truth.processOf(lease.ownerId)?.isRunning === true;
}

/** What is at the provider or on record and should not be. */
export function leaks(simulation: Simulation): readonly string[] {
  const { cloud, sandboxes, laws } = simulation;
  const boxes = cloud.boxes.filter((box) => cloud.isOurs(box));
  const names = new Set(boxes.map(({ name }) => name));
  return [
    ...boxes
      .filter((box) => !isLive(laws.truth.recordOf(box)?.state ?? 'destroyed'))
      .map((box) => `${box.name} is at the provider, and its row says ${laws.truth.recordOf(box)?.state ?? 'nothing'}`),
    ...[...sandboxes.values()]
      // What is at rest may hold files that could not be carried over: its user decides, and may have leased it for them.
      .filter((row) => row.state === 'running' && !laws.truth.isBound(row) && !isLeasedByLiving(simulation, row))
      .map(
        ({ id, state, cause, sessionKey }) =>
          `${id} is ${state} (${cause}), and ${sessionKey ?? ''} has another sandbox`,
      ),
    ...[...sandboxes.values()]
      // A living process finds out with its next use.
      .filter(
        ({ name, state, ownerId }) => isLive(state) && !names.has(name) && !laws.truth.processOf(ownerId)?.isRunning,
      )
      .map(({ id, state }) => `the row of ${id} says ${state}, and the provider does not have it`),
    ...[...sandboxes.values()]
      .filter(({ state, name, ownerId }) => {
        const fact = cloud.find(name)?.state ?? state;
        const isAwake = (fact === 'running' && state === 'paused') || (fact !== 'stopped' && state === 'stopped');
        return isAwake && !laws.truth.processOf(ownerId)?.isRunning;
      })
      .map(({ id, state, name }) => `the row of ${id} says ${state}, and it is ${cloud.find(name)?.state}`),
    ...[...sandboxes.values()]
      .filter(({ state }) => state === 'creating' || state === 'destroying')
      .map(({ id, state }) => `${id} is ${state} for ever`),
    ...[...sandboxes.values()]
      .filter((row) => row.state === 'running' && !row.ephemeral && isLeftBehind(simulation, row))
      .map(({ id, policy }) => `${id} runs on, its owner died, and onExit is ${policy.onExit}`),
    ...[...sandboxes.values()]
      .filter(
        ({ ephemeral, state, ownerId }) => ephemeral && isLive(state) && !laws.truth.processOf(ownerId)?.isRunning,
      )
      .map(({ id, state }) => `${id} is ephemeral and ${state}, and its owner is dead`),
    ...[...sandboxes.values()]
      .filter(
        ({ pool, state, ownerId }) => pool !== undefined && isLive(state) && !laws.truth.processOf(ownerId)?.isRunning,
      )
      .map(({ id, state }) => `${id} is ${state} in a pool, and its owner is gone`),
  ];
}

/** Its owner died without leaving, and its policy has not been applied. */
function isLeftBehind({ laws, capabilities }: Simulation, { ownerId, policy }: SandboxRecord): boolean {
  if (laws.truth.processOf(ownerId)?.isCrashed !== true || policy.onExit === 'keep') return false;
  return policy.onExit === 'destroy' || capabilities.has('pause') || capabilities.has('stop');
}

function end(simulation: Simulation, { process, manager }: RunningManager): void {
  process.thaw();
  if (!process.isRunning) return;
  const how = simulation.chance.weighted({ closes: 4, dies: 4, 'lives on': 1 });
  simulation.trace.note(process.name, () => how);
  if (how === 'dies') process.crash();
  if (how === 'closes') void manager.close().then(() => process.exit());
}

function pass(simulation: Simulation, ms: number): Promise<void> {
  return simulation.run(() => false, simulation.timeline.now + ms, MAX_STEPS_A_ROUND);
}

function checkStrangers(simulation: Simulation): void {
  for (const name of ['sublet-other', 'somebody-elses']) {
    if (simulation.cloud.find(name)?.state !== 'running')
      simulation.violate('3 nobody else is harmed', `${name} was harmed`);
  }
}
