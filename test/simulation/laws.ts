/** Everything that is seen goes to every law. */
import type { Session } from '../../src/core/api.ts';
import type { NetworkLevel } from '../../src/core/network.ts';
import type { SessionKey } from '../../src/core/session-key.ts';
import type { SandboxSpec } from '../../src/provider/provider.ts';
import type { SandboxRecord, SessionRecord } from '../../src/store/records.ts';
import type { FaultyBox } from '../../src/testing/faulty-provider-world.ts';
import { BusyIsNotIdle } from './laws/busy-is-not-idle.ts';
import { CreatesAreUndone } from './laws/creates-are-undone.ts';
import { FilesGoAlong } from './laws/files-go-along.ts';
import { IntentFirst } from './laws/intent-first.ts';
import { LeasesFence } from './laws/leases-fence.ts';
import { LossIsHonest } from './laws/loss-is-honest.ts';
import { NetworkTightens } from './laws/network-tightens.ts';
import { NobodyHarmed } from './laws/nobody-harmed.ts';
import { OrphansAreWatched } from './laws/orphans-are-watched.ts';
import { OneReaper } from './laws/one-reaper.ts';
import { PoolsAreClean } from './laws/pools-are-clean.ts';
import { OneSandboxPerKey } from './laws/one-sandbox-per-key.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Simulation } from './simulation.ts';
import { Truth } from './truth.ts';

export interface RowChange {
  readonly before: SandboxRecord | undefined;
  readonly after: SandboxRecord | undefined;
  /** Whose call it was; undefined for an upheaval. */
  readonly by: SimulatedProcess | undefined;
}

export interface SessionChange {
  readonly key: SessionKey;
  readonly before: SessionRecord | undefined;
  readonly after: SessionRecord | undefined;
  readonly by: SimulatedProcess | undefined;
}

/** One rule, as what it says to each thing that happens. */
export interface Law {
  createAsked?(by: SimulatedProcess, spec: SandboxSpec): void;
  commandAsked?(by: SimulatedProcess, boxName: string, command: string): void;
  /** It begins to run inside, now. */
  commandStarts?(by: SimulatedProcess, boxName: string, command: string): void;
  rowChanged?(change: RowChange): void;
  sessionChanged?(change: SessionChange): void;
  boxAdded?(box: FaultyBox, by: SimulatedProcess | undefined): void;
  boxRemoving?(box: FaultyBox, by: SimulatedProcess | undefined): void;
  boxChanging?(box: FaultyBox, to: FaultyBox['state'], by: SimulatedProcess | undefined): void;
  fileWritten?(boxName: string, path: string): void;
  /** It is as it was made. */
  boxRenewed?(box: FaultyBox): void;
  /** A caller has it in hand. */
  sessionGiven?(to: SimulatedProcess, session: Session, asked: SessionAsked): void;
  /** A caller was told that the network is this tight. */
  networkPromised?(key: SessionKey, level: NetworkLevel): void;
  /** A caller was refused because its sandbox is gone. */
  lossTold?(key: SessionKey): void;
}

/** What was so when a caller asked for its session. */
export interface SessionAsked {
  readonly at: number;
}

export class Laws implements Required<Law> {
  readonly truth: Truth;
  readonly #simulation: Simulation;
  readonly #laws: readonly Law[];
  readonly #pools: PoolsAreClean;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    this.truth = new Truth(simulation);
    this.#pools = new PoolsAreClean(simulation);
    this.#laws = [
      // First, so that the laws judge by facts that include what just happened.
      this.truth,
      new IntentFirst(simulation),
      new CreatesAreUndone(simulation, this.truth),
      new NobodyHarmed(simulation, this.truth),
      new OneReaper(simulation, this.truth),
      new OrphansAreWatched(simulation, this.truth),
      new OneSandboxPerKey(simulation, this.truth),
      new LeasesFence(simulation),
      new NetworkTightens(simulation),
      new BusyIsNotIdle(simulation, this.truth),
      new LossIsHonest(simulation),
      new FilesGoAlong(simulation),
      this.#pools,
    ];
    simulation.sandboxes.watch((_id, before, after) => this.rowChanged({ before, after, by: simulation.actor }));
    simulation.sessions.watch((key, before, after) =>
      this.sessionChanged({ key, before, after, by: simulation.actor }),
    );
  }

  createAsked(by: SimulatedProcess, spec: SandboxSpec): void {
    for (const law of this.#laws) law.createAsked?.(by, spec);
  }

  commandAsked(by: SimulatedProcess, boxName: string, command: string): void {
    for (const law of this.#laws) law.commandAsked?.(by, boxName, command);
  }

  commandStarts(by: SimulatedProcess, boxName: string, command: string): void {
    for (const law of this.#laws) law.commandStarts?.(by, boxName, command);
  }

  rowChanged(change: RowChange): void {
    for (const law of this.#laws) law.rowChanged?.(change);
  }

  sessionChanged(change: SessionChange): void {
    for (const law of this.#laws) law.sessionChanged?.(change);
  }

  boxAdded(box: FaultyBox): void {
    for (const law of this.#laws) law.boxAdded?.(box, this.#simulation.actor);
  }

  boxRemoving(box: FaultyBox): void {
    for (const law of this.#laws) law.boxRemoving?.(box, this.#simulation.actor);
  }

  boxChanging(box: FaultyBox, to: FaultyBox['state']): void {
    for (const law of this.#laws) law.boxChanging?.(box, to, this.#simulation.actor);
  }

  fileWritten(boxName: string, path: string): void {
    for (const law of this.#laws) law.fileWritten?.(boxName, path);
  }

  boxRenewed(box: FaultyBox): void {
    for (const law of this.#laws) law.boxRenewed?.(box);
  }

  /** Somebody asks the pool, which has this long. The returned function says that it was answered. */
  poolAsked(by: SimulatedProcess, timeoutMs: number): () => void {
    return this.#pools.asked(by, timeoutMs);
  }

  sessionGiven(to: SimulatedProcess, session: Session, asked: SessionAsked): void {
    for (const law of this.#laws) law.sessionGiven?.(to, session, asked);
  }

  networkPromised(key: SessionKey, level: NetworkLevel): void {
    for (const law of this.#laws) law.networkPromised?.(key, level);
  }

  lossTold(key: SessionKey): void {
    for (const law of this.#laws) law.lossTold?.(key);
  }
}
