/** What is really so: who lives, what runs where, what users asked for. Laws judge by it; no process can see it. */
import type { OwnerId, SandboxId } from '../../src/core/ids.ts';
import { isAtLeastAsTight } from '../../src/core/network.ts';
import type { SessionKey } from '../../src/core/session-key.ts';
import { LABEL } from '../../src/core/spec.ts';
import type { SandboxRecord } from '../../src/store/records.ts';
import type { FaultyBox } from '../../src/testing/faulty-provider-world.ts';
import type { Law, RowChange } from './laws.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Simulation } from './simulation.ts';

export interface InnerCommand {
  readonly by: SimulatedProcess;
  readonly since: number;
}

// The specification, said again: the engine's own constants prove nothing about themselves.
const SILENCE_LIMIT_MS = 5 * 60_000;
const TAKEOVER_GRACE_MS = 10_000;

// A heartbeat may be this old before its process stands still, and need this long to be seen.
const HEARTBEAT_SLACK_MS = 30_000;

/** A user asked for all of them, also those that came after the question. */
const ALL_DESTROYED = 'all sessions destroyed';

export class Truth implements Law {
  readonly #simulation: Simulation;
  readonly #owners = new Map<OwnerId, SimulatedProcess>();
  /** Those that took themselves off the record: they have put away what they had, and only end. */
  readonly #left = new Set<SimulatedProcess>();
  readonly #madeAt = new Map<SandboxId, number>();
  readonly #holders = new Map<SandboxId, Set<SimulatedProcess>>();
  readonly #makers = new Map<SandboxId, SimulatedProcess>();
  /** When the term of its lease is over, counted from when that was asked for. */
  readonly #leasedUntil = new Map<SandboxId, number>();
  readonly #licensed = new Set<SandboxId>();
  readonly #toldGone = new Set<string>();
  readonly #commands = new Map<string, Set<InnerCommand>>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    simulation.owners.watch((id, _before, after) => {
      const { actor } = simulation;
      if (after !== undefined && actor !== undefined) this.#owners.set(id, actor);
      else if (after === undefined && actor !== undefined && actor === this.#owners.get(id)) this.#left.add(actor);
    });
  }

  rowChanged({ before, after, by }: RowChange): void {
    if (after !== undefined && after.ownerId !== before?.ownerId) this.#noteHolder(after, before, by);
    if (after?.lease !== undefined && after.lease.expiresAt !== before?.lease?.expiresAt)
      this.#leasedUntil.set(after.id, this.#simulation.askedAt + after.lease.ttlMs);
    if (before !== undefined || after === undefined) return;
    this.#madeAt.set(after.id, this.#simulation.timeline.now);
    if (by !== undefined) this.#makers.set(after.id, by);
  }

  makerOf(id: SandboxId): SimulatedProcess | undefined {
    return this.#makers.get(id);
  }

  /** What it was made for is over when its maker says so. */
  isMaker(process: SimulatedProcess, { id, ephemeral }: SandboxRecord): boolean {
    return ephemeral && this.#makers.get(id) === process;
  }

  processOf(id: OwnerId): SimulatedProcess | undefined {
    return this.#owners.get(id);
  }

  /** Whose it is: its maker's for as long as that lives if it was made for one purpose, of a pool whoever leases it, else who had it last. */
  holderOf({ id, ephemeral, ownerId, pool, lease }: SandboxRecord): SimulatedProcess | undefined {
    if (pool !== undefined && lease !== undefined)
      return this.#simulation.timeline.now < (this.#leasedUntil.get(id) ?? 0)
        ? this.processOf(lease.ownerId)
        : undefined;
    const maker = this.#makers.get(id);
    return ephemeral && maker?.isRunning === true ? maker : this.processOf(ownerId);
  }

  /** All who ever had it and may still use it. */
  everHeldBy({ id }: SandboxRecord): readonly SimulatedProcess[] {
    return [...(this.#holders.get(id) ?? [])];
  }

  /** True when `observer` has no excuse for taking the owner of the sandbox for dead. */
  countsAsAlive(owner: SimulatedProcess, observer: SimulatedProcess, { id }: SandboxRecord): boolean {
    if (!owner.isRunning || this.#left.has(owner)) return false;
    // Another host may have given it up, and its record with it.
    const silentMs = owner.longestFreezeSince((this.#madeAt.get(id) ?? 0) - HEARTBEAT_SLACK_MS);
    return silentMs < SILENCE_LIMIT_MS - HEARTBEAT_SLACK_MS || (owner.host === observer.host && owner.isFrozen);
  }

  ageMs(id: SandboxId): number {
    return this.#simulation.timeline.now - (this.#madeAt.get(id) ?? 0);
  }

  /** It has been in the making for longer than its maker may take. */
  isOverdue({ id, state, policy }: SandboxRecord): boolean {
    return state === 'creating' && this.ageMs(id) >= policy.timeoutSeconds * 1000 + TAKEOVER_GRACE_MS;
  }

  /** A user asked for it to be put away. */
  license(id: SandboxId): void {
    this.#licensed.add(id);
  }

  /** The key's sandbox may be put away, and the ones that follow it. */
  licenseKey(key: SessionKey): void {
    const bound = this.#simulation.sessions.get(key);
    if (bound !== undefined) this.license(bound.sandboxId);
  }

  /** `cause`: why it is put away. */
  isLicensed({ id }: SandboxRecord, cause: string): boolean {
    return this.#licensed.has(id) || cause === ALL_DESTROYED;
  }

  /** The provider told somebody that it is certainly gone. */
  tellGone(name: string): void {
    this.#toldGone.add(name);
  }

  isSaidGone(name: string): boolean {
    return this.#toldGone.has(name) || this.#simulation.cloud.find(name) === undefined;
  }

  isBound({ id, sessionKey }: SandboxRecord): boolean {
    return sessionKey === undefined || this.#simulation.sessions.get(sessionKey)?.sandboxId === id;
  }

  /** It was made with a weaker network than its row demands; that it was cut in place may have been answered with silence. */
  isTooOpen({ name, network }: SandboxRecord): boolean {
    const box = this.#simulation.cloud.find(name);
    return box === undefined || !isAtLeastAsTight(box.spec.network, network);
  }

  #noteHolder({ id, ownerId }: SandboxRecord, before: SandboxRecord | undefined, by: RowChange['by']): void {
    const holder = this.processOf(ownerId);
    const holders = this.#holders.get(id) ?? new Set();
    // Who leaves hands it over itself.
    if (by !== undefined && before !== undefined && this.processOf(before.ownerId) === by) holders.delete(by);
    this.#holders.set(id, holder === undefined ? holders : holders.add(holder));
  }

  recordOf(box: FaultyBox): SandboxRecord | undefined {
    const record = this.#simulation.sandboxes.get(box.labels[LABEL.sandbox] ?? '');
    return record?.name === box.name ? record : undefined;
  }

  commandBegan(by: SimulatedProcess, boxName: string): () => void {
    const commands = this.#commands.get(boxName) ?? new Set();
    this.#commands.set(boxName, commands);
    const command = { by, since: this.#simulation.timeline.now };
    commands.add(command);
    return () => commands.delete(command);
  }

  commandsIn(boxName: string): readonly InnerCommand[] {
    return [...(this.#commands.get(boxName) ?? [])];
  }
}
