/** One holder at a time: nobody is passed over while its term lasts, and nobody uses what somebody else has since. */
import type { SandboxId } from '../../../src/core/ids.ts';
import type { LeaseRecord } from '../../../src/store/records.ts';
import { ENGINES_OWN } from '../engines-own.ts';
import type { Law, RowChange } from '../laws.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { Simulation } from '../simulation.ts';

interface Held {
  readonly token: number;
  readonly by: SimulatedProcess;
  readonly since: number;
  readonly until: number;
}

/** A use that had looked before the lease was taken may still be on its way for this long. */
const ON_ITS_WAY_MS = 5_000;

/** Agents say with every use of a lease which one it is. */
export function commandUnderLease(token: number): string {
  return `echo lease ${token}`;
}

function isSame(one: LeaseRecord | undefined, other: LeaseRecord | undefined): boolean {
  return one?.token === other?.token && one?.expiresAt === other?.expiresAt;
}

export class LeasesFence implements Law {
  readonly #simulation: Simulation;
  readonly #held = new Map<SandboxId, Held>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  rowChanged({ before, after, by }: RowChange): void {
    if (after === undefined || by === undefined || isSame(before?.lease, after.lease)) return;
    const { now } = this.#simulation.timeline;
    const { id, lease } = after;
    const held = this.#held.get(id);
    if (lease === undefined) {
      this.#held.delete(id);
      return;
    }
    const isRenewed = before?.lease?.token === lease.token;
    if (!isRenewed && lease.token <= (before?.fence ?? 0))
      this.#violate(`${by.name} leases ${id} with token ${lease.token}, which is not greater than all before`);
    if (!isRenewed && held !== undefined && held.by.isRunning && now < held.until)
      this.#violate(`${by.name} takes ${id} from ${held.by.name}, whose lease lasts for ${held.until - now} ms more`);
    if (isRenewed && held !== undefined && held.by !== by)
      this.#violate(`${by.name} renews the lease ${lease.token} on ${id}, which ${held.by.name} has`);
    // What lapsed before its renewal came was free meanwhile, and begins anew.
    const hasLasted = isRenewed && held !== undefined && now < held.until;
    const since = hasLasted ? held.since : now;
    const holder = isRenewed ? (held?.by ?? by) : by;
    // Its holder counts the term from when it asked.
    this.#held.set(id, { token: lease.token, by: holder, since, until: this.#simulation.askedAt + lease.ttlMs });
  }

  commandAsked(by: SimulatedProcess, boxName: string, command: string): void {
    if (ENGINES_OWN.includes(command)) return;
    const row = [...this.#simulation.sandboxes.values()].find(({ name }) => name === boxName);
    const token = Number(/^echo lease (\d+)$/.exec(command)?.[1] ?? 0);
    if (row === undefined) return;
    if (token > 0 && row.fence > token)
      this.#violate(`${by.name} runs "${command}" in ${row.id}, which has been leased with ${row.fence} since`);
    if (token === 0) this.#checkStranger(by, row.id, command);
  }

  #checkStranger(by: SimulatedProcess, id: SandboxId, command: string): void {
    const { now } = this.#simulation.timeline;
    const held = this.#held.get(id);
    if (held === undefined || !held.by.isRunning || now >= held.until || by.longestFreezeSince(0) > 0) return;
    if (now - held.since > ON_ITS_WAY_MS)
      this.#violate(
        `${by.name} runs "${command}" in ${id}, which ${held.by.name} has had to itself for ${now - held.since} ms`,
      );
  }

  #violate(message: string): void {
    this.#simulation.violate('5 leases exclude and fence', message);
  }
}
