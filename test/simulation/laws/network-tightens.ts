/** A session's network never loosens, and nothing runs in a box that is looser than a caller was promised. */
import type { Session } from '../../../src/core/api.ts';
import type { NetworkLevel } from '../../../src/core/network.ts';
import { isAtLeastAsTight, tighter } from '../../../src/core/network.ts';
import type { SessionKey } from '../../../src/core/session-key.ts';
import { ENGINES_OWN } from '../engines-own.ts';
import type { Law, SessionAsked, SessionChange } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';

export class NetworkTightens implements Law {
  readonly #simulation: Simulation;
  readonly #promised = new Map<SessionKey, NetworkLevel>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  sessionChanged({ key, before, after }: SessionChange): void {
    const floor = before?.network ?? this.#promised.get(key);
    if (floor === undefined || after === undefined || isAtLeastAsTight(after.network, floor)) return;
    this.#violate(`${key} loosens from ${floor} to ${after.network}`);
  }

  networkPromised(key: SessionKey, level: NetworkLevel): void {
    this.#promised.set(key, tighter(level, this.#promised.get(key) ?? level));
  }

  commandStarts(by: SimulatedProcess, boxName: string, command: string): void {
    // The engine empties a box that was replaced by a tighter one.
    if (ENGINES_OWN.includes(command)) return;
    const box = this.#simulation.cloud.find(boxName);
    const key = [...this.#simulation.sandboxes.values()].find(({ name }) => name === boxName)?.sessionKey;
    const promised = key === undefined ? undefined : this.#promised.get(key);
    if (box?.state !== 'running' || promised === undefined || isAtLeastAsTight(box.network, promised)) return;
    this.#violate(`${by.name} runs "${command}" in ${boxName} with network ${box.network}; ${promised} was promised`);
  }

  sessionGiven(to: SimulatedProcess, { key, sandboxId }: Session, { session }: SessionAsked): void {
    const row = this.#simulation.sandboxes.get(sandboxId);
    const box = row && this.#simulation.cloud.find(row.name);
    // A key whose first sandbox could not be made is forgotten, and begins anew.
    const isSame = session?.createdAt === this.#simulation.sessions.get(key)?.createdAt;
    if (session === undefined || box === undefined || !isSame || isAtLeastAsTight(box.network, session.network)) return;
    this.#violate(
      `${to.name} is given ${sandboxId} of ${key} with network ${box.network}; its session has ${session.network}`,
    );
  }

  #violate(message: string): void {
    this.#simulation.violate('6 the network only tightens', message);
  }
}
