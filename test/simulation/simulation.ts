/** One simulated history: hosts and processes, one store, one cloud, and the laws that nothing in it may break. */
import type { Capability } from '../../src/provider/capabilities.ts';
import { FAULTY_CAPABILITIES } from '../../src/testing/faulty-provider.ts';
import type { OwnerId, SandboxId } from '../../src/core/ids.ts';
import type { SessionKey } from '../../src/core/session-key.ts';
import type { OwnerRecord, SandboxRecord, SessionRecord } from '../../src/store/records.ts';
import type { Ticket } from '../../src/store/pool-changes.ts';
import { MemoryStore } from '../../src/stores/memory/memory-store.ts';
import type { Tables } from '../../src/stores/memory/tables.ts';
import { emptyTables } from '../../src/stores/memory/tables.ts';
import { Chance } from './chance.ts';
import { Climate } from './climate.ts';
import { Cloud } from './cloud.ts';
import { Host } from './host.ts';
import { Laws } from './laws.ts';
import { ObservedMap } from './observed-map.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Theme } from './theme.ts';
import { pickTheme, poolTheme } from './theme.ts';
import { Timeline, drain } from './timeline.ts';
import { Trace } from './trace.ts';

export interface Violation {
  readonly law: string;
  readonly message: string;
  readonly at: number;
}

export interface SeedOptions {
  readonly trace?: boolean | undefined;
  /** The seed's history of pools, which is another than its own. */
  readonly pools?: boolean | undefined;
}

const INSTALLATION = 'ins_simulated';

export class Simulation {
  readonly chance: Chance;
  readonly timeline: Timeline = new Timeline();
  readonly theme: Theme;
  readonly trace: Trace;
  readonly climate: Climate;
  /** What the provider of this history can do. */
  readonly capabilities: ReadonlySet<Capability>;
  readonly sandboxes = new ObservedMap<SandboxId, SandboxRecord>();
  readonly sessions = new ObservedMap<SessionKey, SessionRecord>();
  readonly owners = new ObservedMap<OwnerId, OwnerRecord>();
  readonly tickets = new ObservedMap<number, Ticket>();
  readonly tables: Tables;
  readonly store: MemoryStore;
  readonly cloud: Cloud;
  readonly hosts: readonly Host[];
  readonly processes: SimulatedProcess[] = [];
  readonly laws: Laws;
  /** Agents begin nothing new once this is set. */
  isWindingDown = false;
  /** Some host's clock was set: instants of different hosts say nothing about each other. */
  isClockSet = false;
  violation: Violation | undefined;
  /** What takes effect now was answered with a failure long ago. */
  isDoneLate = false;
  /** When whoever acts now sent what takes effect. */
  askedAt = 0;
  /** A pool is asked now, by whoever has this place in its queue. */
  taking: { readonly ticket: number | undefined } | undefined;
  #actor: SimulatedProcess | undefined;

  constructor(seed: number, options: SeedOptions = {}) {
    this.chance = new Chance(seed);
    this.trace = new Trace(this.timeline, options.trace ?? false);
    this.theme = options.pools === true ? poolTheme(this.chance) : pickTheme(this.chance);
    this.capabilities = someCapabilities(this.chance, this.theme);
    this.climate = new Climate(this.chance.fork(), this.theme);
    const { sandboxes, sessions, owners, tickets } = this;
    this.tables = { ...emptyTables(), installation: INSTALLATION, sandboxes, sessions, owners, tickets };
    this.store = new MemoryStore(this.tables);
    this.cloud = new Cloud(this);
    this.hosts = ['host-a', 'host-b'].map((id) => new Host(id, this.timeline));
    this.laws = new Laws(this);
  }

  get installation(): string {
    return INSTALLATION;
  }

  /** Whose call is taking effect now. */
  get actor(): SimulatedProcess | undefined {
    return this.#actor;
  }

  actingFor<T>(process: SimulatedProcess, work: () => T): T {
    this.#actor = process;
    try {
      return work();
    } finally {
      this.#actor = undefined;
    }
  }

  /** Only the first counts: what follows from it is not told. */
  violate(law: string, message: string): void {
    this.trace.note('!!!!', () => `${law}: ${message}`);
    this.violation ??= { law, message, at: this.timeline.now };
  }

  /** Things happen, one by one, until `isOver` says so, none is left before `until`, or a law is broken. */
  async run(isOver: () => boolean, until: number, maxSteps: number): Promise<void> {
    const lastStep = this.timeline.steps + maxSteps;
    while (this.violation === undefined && !isOver() && this.timeline.steps < lastStep && this.timeline.step(until)) {
      await drain();
    }
  }
}

/** Some providers cannot pause, stop or cut a network in place. */
function someCapabilities(chance: Chance, { cutsInPlace }: Theme): ReadonlySet<Capability> {
  const likely: Partial<Record<Capability, number>> = { pause: 0.75, stop: 0.75, 'network-live': cutsInPlace };
  return new Set(
    FAULTY_CAPABILITIES.filter(
      // Every provider resets: whether it comes out clean is what differs.
      (capability) => capability === 'reset' || chance.happens(likely[capability] ?? 1),
    ),
  );
}
