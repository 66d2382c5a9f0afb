/** What befalls processes, hosts and the provider: deaths, reboots, standstills, clocks that are set, outages, losses. */
import { LABEL } from '../../src/core/spec.ts';
import type { Chance } from './chance.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Theme, UpheavalKind } from './theme.ts';
import type { Simulation } from './simulation.ts';

const CLOCK_STEPS_MS = [-3_600_000, -120_000, -5_000, 5_000, 120_000, 3_600_000];
const SOON_MS = 10_000;

/** What is done about processes. */
export interface ProcessCare {
  /** Brings up a process in place of one that has ended. */
  restart(ended: SimulatedProcess): void;
  /** Lets it leave in good order. */
  leave(process: SimulatedProcess): void;
}

/** Plans some, at random instants of the time in which agents are at work. */
export function planUpheavals(simulation: Simulation, chance: Chance, care: ProcessCare): void {
  const { theme, timeline } = simulation;
  for (let left = chance.between(0, theme.mostUpheavals); left > 0; left--) {
    const kind = chance.weighted(theme.upheavals);
    timeline.plan(momentOf(theme, chance), () => {
      if (!simulation.isWindingDown) UPHEAVALS[kind](simulation, chance, care);
    });
  }
}

/** Where agents act together, soon before they do: what it leaves is then still there. */
function momentOf({ paceMs, beatMs }: Theme, chance: Chance): number {
  if (beatMs === undefined) return chance.between(0, paceMs * 3);
  return beatMs * chance.between(1, 3) - chance.between(0, SOON_MS);
}

type Upheaval = (simulation: Simulation, chance: Chance, care: ProcessCare) => void;

const UPHEAVALS: Readonly<Record<UpheavalKind, Upheaval>> = {
  crash(simulation, chance, care) {
    const process = pickRunning(simulation, chance);
    if (process !== undefined) kill(simulation, chance, process, care);
  },
  leave(simulation, chance, care) {
    const process = pickRunning(simulation, chance);
    if (process === undefined) return;
    simulation.trace.note(process.name, () => 'leaves');
    care.leave(process);
    care.restart(process);
  },
  freeze(simulation, chance) {
    const process = pickRunning(simulation, chance);
    if (process === undefined || process.isFrozen) return;
    const ms = chance.pick(simulation.theme.standstillsMs);
    simulation.trace.note(process.name, () => `stands still for ${ms / 1000} s`);
    process.freeze();
    simulation.timeline.plan(ms, () => {
      simulation.trace.note(process.name, () => 'goes on');
      process.thaw();
    });
  },
  setClock(simulation, chance) {
    const host = chance.pick(simulation.hosts);
    const ms = chance.pick(CLOCK_STEPS_MS);
    simulation.trace.note(host.id, () => `clock set by ${ms / 1000} s`);
    simulation.isClockSet = true;
    host.setClock(ms);
  },
  outage(simulation, chance) {
    simulation.trace.note('cloud', () => 'outage begins');
    simulation.climate.isOutage = true;
    simulation.timeline.plan(chance.between(100, 30_000), () => {
      simulation.trace.note('cloud', () => 'outage ends');
      simulation.climate.isOutage = false;
    });
  },
  lose(simulation, chance) {
    const ours = simulation.cloud.boxes.filter((box) => simulation.cloud.isOurs(box));
    if (ours.length === 0) return;
    const { name } = chance.pick(ours);
    simulation.trace.note('cloud', () => `loses ${name}`);
    simulation.cloud.lose(name);
  },
  reboot(simulation, chance, care) {
    const host = chance.pick(simulation.hosts);
    simulation.trace.note(host.id, () => 'reboots');
    for (const process of host.processes) if (process.isRunning) kill(simulation, chance, process, care);
    host.reboot();
  },
};

/** Sandboxes of others at the same provider: another installation's, and some without labels. */
export function addStrangers(simulation: Simulation): void {
  const spec = { kind: 'execution', network: 'open', ephemeral: false } as const;
  const labels = { [LABEL.installation]: 'ins_other', [LABEL.sandbox]: 'sbx_other', [LABEL.owner]: 'own_other' };
  simulation.cloud.add({ ...spec, name: 'sublet-other', labels });
  simulation.cloud.add({ ...spec, name: 'somebody-elses', labels: {} });
}

function kill(simulation: Simulation, chance: Chance, process: SimulatedProcess, care: ProcessCare): void {
  simulation.trace.note(process.name, () => 'dies');
  process.crash();
  if (chance.happens(0.6)) care.restart(process);
}

function pickRunning(simulation: Simulation, chance: Chance): SimulatedProcess | undefined {
  const running = simulation.processes.filter((process) => process.isRunning);
  return running.length === 0 ? undefined : chance.pick(running);
}
