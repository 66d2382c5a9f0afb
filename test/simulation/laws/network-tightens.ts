/** A session's network never loosens, and nothing runs in a box that is looser than a caller was promised, or than its row says. */
import type { Session } from '../../../src/core/api.ts';
import type { NetworkLevel } from '../../../src/core/network.ts';
import { isAtLeastAsTight } from '../../../src/core/network.ts';
import type { SandboxId } from '../../../src/core/ids.ts';
import type { SessionKey } from '../../../src/core/session-key.ts';
import { ENGINES_OWN } from '../engines-own.ts';
import type { Law, RowChange, SessionAsked, SessionChange } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';

interface Promised {
  readonly level: NetworkLevel;
  readonly at: number;
}

/** Who looked at the row before it was tightened may still be on its way for this long. */
const ON_ITS_WAY_MS = 3_000;

export class NetworkTightens implements Law {
  readonly #simulation: Simulation;
  readonly #tightenedAt = new Map<SandboxId, number>();
  readonly #promises = new Map<SessionKey, Promised>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  sessionChanged({ key, before, after }: SessionChange): void {
    const floor = before?.network ?? this.#promises.get(key)?.level;
    if (floor === undefined || after === undefined || isAtLeastAsTight(after.network, floor)) return;
    this.#violate(`${key} loosens from ${floor} to ${after.network}`);
  }

  rowChanged({ before, after }: RowChange): void {
    if (before === undefined || after === undefined || isAtLeastAsTight(before.network, after.network)) return;
    this.#tightenedAt.set(after.id, this.#simulation.timeline.now);
  }

  commandAsked(by: SimulatedProcess, boxName: string, command: string): void {
    if (ENGINES_OWN.includes(command)) return;
    const box = this.#simulation.cloud.find(boxName);
    const row = [...this.#simulation.sandboxes.values()].find(({ name }) => name === boxName);
    if (row === undefined || box?.state !== 'running' || isAtLeastAsTight(box.network, row.network)) return;
    const since = this.#tightenedAt.get(row.id) ?? 0;
    const ageMs = this.#simulation.timeline.now - since;
    if (ageMs <= ON_ITS_WAY_MS || by.longestFreezeSince(since) > 0) return;
    this.#violate(
      `${by.name} runs "${command}" in ${row.id} with network ${box.network}; its row has said ${row.network} for ${ageMs} ms`,
    );
  }

  networkPromised(key: SessionKey, level: NetworkLevel): void {
    const before = this.#promises.get(key);
    if (before !== undefined && isAtLeastAsTight(before.level, level)) return;
    this.#promises.set(key, { level, at: this.#simulation.timeline.now });
  }

  commandStarts(by: SimulatedProcess, boxName: string, command: string): void {
    // The engine empties a box that was replaced by a tighter one.
    if (ENGINES_OWN.includes(command)) return;
    const box = this.#simulation.cloud.find(boxName);
    const key = [...this.#simulation.sandboxes.values()].find(({ name }) => name === boxName)?.sessionKey;
    const promise = key === undefined ? undefined : this.#promises.get(key);
    if (box?.state !== 'running' || promise === undefined || isAtLeastAsTight(box.network, promise.level)) return;
    // What was sent before cannot be called back from a provider that is late with it.
    if (this.#simulation.askedAt < promise.at) return;
    this.#violate(
      `${by.name} runs "${command}" in ${boxName} with network ${box.network}; ${promise.level} was promised`,
    );
  }

  sessionGiven(to: SimulatedProcess, { key, sandboxId }: Session, { at }: SessionAsked): void {
    const row = this.#simulation.sandboxes.get(sandboxId);
    const box = row && this.#simulation.cloud.find(row.name);
    const promise = this.#promises.get(key);
    if (box === undefined || promise === undefined || promise.at > at || isAtLeastAsTight(box.network, promise.level))
      return;
    this.#violate(
      `${to.name} is given ${sandboxId} of ${key} with network ${box.network}; ${promise.level} was promised`,
    );
  }

  #violate(message: string): void {
    this.#simulation.violate('6 the network only tightens', message);
  }
}
