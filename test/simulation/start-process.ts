/** A process comes up: the real manager over wired ports, and agents that use it. */
import type { Manager } from '../../src/manager/create-manager.ts';
import { createManager } from '../../src/manager/create-manager.ts';
import type { ManagerOptions } from '../../src/manager/manager-options.ts';
import type { ManagerPorts } from '../../src/manager/ports.ts';
import { createFaultyPorts } from '../../src/testing/faulty-provider-ports.ts';
import { createFaultyProvider } from '../../src/testing/faulty-provider.ts';
import type { Host } from './host.ts';
import { SimulatedProcess } from './simulated-process.ts';
import type { Simulation } from './simulation.ts';
import { wireProvider } from './wired-provider.ts';
import { wireStore } from './wired-store.ts';

/** The pool of a history that has one. */
export const POOL = 'pool';

export interface StartOptions extends ManagerOptions {
  readonly isPidReused?: boolean;
}

export interface RunningManager {
  readonly process: SimulatedProcess;
  readonly manager: Manager;
}

export async function startProcess(
  simulation: Simulation,
  host: Host,
  { isPidReused = false, ...options }: StartOptions,
): Promise<RunningManager> {
  const { timeline, chance, processes } = simulation;
  const process = new SimulatedProcess(`p${processes.length + 1}`, host, timeline, chance.fork(), isPidReused);
  processes.push(process);
  const { pid, pidStartedAt } = process.identity;
  simulation.trace.note(process.name, () => `starts on ${host.id} as ${pid} (start ${pidStartedAt}, ${host.bootId})`);
  const random = process.chance.fork();
  const manager = await createManager(portsOf(simulation, process), {
    random: (length) => random.bytes(length),
    ...options,
  });
  const { pool } = simulation.theme;
  const canPause = simulation.capabilities.has('pause');
  if (pool !== undefined) manager.pools.define(POOL, canPause ? pool : { ...pool, minPaused: 0 });
  return { process, manager };
}

function portsOf(simulation: Simulation, process: SimulatedProcess): ManagerPorts {
  const capabilities = [...simulation.capabilities];
  const store = wireStore(simulation, process, simulation.store);
  const provider = wireProvider(simulation, process, createFaultyProvider(simulation.cloud, { capabilities }));
  const say = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    simulation.trace.note(process.name, () => `says: ${message} ${JSON.stringify(fields)}`);
  return {
    store,
    clock: process.clock,
    log: { debug: say, info: say, warn: say, error: say },
    identity: process.identity,
    resolve: createFaultyPorts(simulation.cloud, store).resolve,
    provider: async () => provider,
    isRunning: (asked) => new Promise((resolve) => process.receive(0, () => resolve(process.host.isRunning(asked)))),
  };
}
