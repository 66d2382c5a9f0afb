/** What every part of the manager shares: the ports, who we are, what this process holds and what it is still doing. */
import { SubletError } from '../core/errors.ts';
import type { NewEvent } from '../core/events.ts';
import type { OwnerId, SandboxId } from '../core/ids.ts';
import { newId } from '../core/ids.ts';
import { HEARTBEAT_MS } from '../core/liveness.ts';
import type { SandboxKind } from '../core/session-key.ts';
import type { Counter, SandboxRecord } from '../store/records.ts';
import type { CounterRow } from '../store/store.ts';
import { LeaseWatch } from './lease-watch.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import type { ManagerConfig } from './manager-options.ts';
import { OwnerWatch } from './owner-watch.ts';
import { PoolTallies } from './pools/pool-tallies.ts';
import type { ManagerPorts } from './ports.ts';
import { Breakers } from './routing/breakers.ts';
import { letManyFollow } from './shared-signal.ts';

const LONGEST_SILENCE_MS = 3 * HEARTBEAT_MS;

export class Engine {
  readonly ports: ManagerPorts;
  readonly config: ManagerConfig;
  readonly ownerId: OwnerId;
  /** By id: every sandbox this process has a handle on. */
  readonly lives: Map<SandboxId, LiveSandbox> = new Map();
  /** Sandboxes this process is making. */
  readonly making: Set<SandboxId> = new Set();
  /** Sandboxes that are to be off the network and could not be put to rest. */
  readonly uncontained: Map<SandboxId, SandboxRecord> = new Map();
  readonly owners: OwnerWatch;
  readonly leaseWatch: LeaseWatch;
  /** What this process thinks of providers, where it has a choice. */
  readonly breakers: Breakers = new Breakers();
  /** Leases this process holds. */
  readonly leases: Set<{ release(cause: string): Promise<void> }> = new Set();
  /** What happened in pools and is not written yet. */
  readonly tallies: PoolTallies = new PoolTallies();
  /** The pools that this process keeps, and what they are made of. */
  readonly keptLanes: Map<string, string> = new Map();
  /** Something of this pool came or went. */
  onPoolChange: (pool: string | undefined) => void = () => {};
  /** Called once, when this process is on record as an owner. */
  onRegistered: () => void = () => {};
  readonly #closing = new AbortController();
  readonly #background = new Set<Promise<unknown>>();
  readonly #turns = new Map<SandboxId, Promise<unknown>>();
  readonly #counts = new Map<string, CounterRow>();
  readonly #startedAt: number;
  readonly #startedElapsed: number;
  #beatAt = Infinity;
  #registered: Promise<void> | undefined;
  #installation: Promise<string> | undefined;

  constructor(ports: ManagerPorts, config: ManagerConfig) {
    this.ports = ports;
    this.config = config;
    this.ownerId = newId('own', config.random);
    this.owners = new OwnerWatch(ports, this.ownerId);
    this.leaseWatch = new LeaseWatch(ports, this.owners);
    // Whatever is at work listens to it, and that may be a thousand: no leak to be warned of.
    letManyFollow(this.closing);
    this.#startedAt = ports.clock.now();
    this.#startedElapsed = ports.clock.elapsed();
  }

  /** Fires when the manager closes: nothing new starts, what is being made is undone. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** What a row says of whom it belongs to when it is ours. */
  get ownership(): Pick<SandboxRecord, 'ownerId' | 'hostId' | 'hostName'> {
    const { hostId, hostName } = this.ports.identity;
    return { ownerId: this.ownerId, hostId, hostName };
  }

  /** What an event says of who did it; an owner's id says nothing once its record is gone. */
  get signature(): { readonly ownerId: OwnerId; readonly details: { readonly by: string } } {
    const { pid, hostName } = this.ports.identity;
    return { ownerId: this.ownerId, details: { by: `process ${pid} on ${hostName}` } };
  }

  get isRegistered(): boolean {
    return this.#registered !== undefined;
  }

  /**
   * The time of day when this process began and what has passed since: a clock that is set forward makes nothing look idle
   * or overdue, and one that is set back does not hide what is in use.
   */
  now(): number {
    return this.#startedAt + (this.ports.clock.elapsed() - this.#startedElapsed);
  }

  assertOpen(): void {
    if (this.closing.aborted) throw closedError();
  }

  beginClosing(): void {
    this.#closing.abort(closedError());
  }

  /**
   * Writes the owner row before this process's first change, so that reading alone leaves no trace; and again after a silence in
   * which others may have given this process up, so that what it takes then has an owner on record.
   */
  register(): Promise<void> {
    this.#registered ??= this.#registerFirst();
    const isSilent = this.ports.clock.elapsed() - this.#beatAt > LONGEST_SILENCE_MS;
    return isSilent ? this.#registered.then(() => this.beat()) : this.#registered;
  }

  /** Says that this process lives. One that was given up for dead says who it is again. */
  async beat(): Promise<void> {
    if (this.#registered === undefined || this.closing.aborted) return;
    await this.#registered;
    const beatAt = this.ports.clock.elapsed();
    const isKnown = await this.ports.store.heartbeat(this.ownerId, this.ports.clock.now());
    if (!isKnown && !this.closing.aborted) await this.#putOwner();
    this.#beatAt = beatAt;
  }

  installation(): Promise<string> {
    this.#installation ??= this.ports.store.installation().catch((cause: unknown) => {
      // A failure is not remembered: the store may answer the next time.
      this.#installation = undefined;
      throw cause;
    });
    return this.#installation;
  }

  /** Work that outlives its caller but not the manager: `close` waits for it. A failure is logged, never thrown. */
  inBackground(what: string, work: Promise<unknown>): void {
    const tracked = work
      .catch((cause: unknown) => this.ports.log.warn({ error: describe(cause) }, what))
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }

  /** An event that is no part of a change. One that cannot be written is logged: it must not spoil what it tells of. */
  async tell(event: Omit<NewEvent, 'at' | 'ownerId'>): Promise<void> {
    const { store, log } = this.ports;
    await store.appendEvents([{ ...event, at: this.now(), ownerId: this.ownerId }]).catch((cause: unknown) => {
      log.warn({ error: describe(cause) }, 'event not written');
    });
  }

  /** Everything that was begun is over. */
  async drained(): Promise<void> {
    while (this.#background.size + this.#turns.size > 0)
      await Promise.all([...this.#background, ...this.#turns.values()]);
  }

  /** One at a time for each sandbox, in the order asked. `close` waits for what has begun; nothing begins after it. */
  async exclusively<T>(id: SandboxId, work: () => Promise<T>): Promise<T> {
    const begin = async (): Promise<T> => {
      this.assertOpen();
      return work();
    };
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(begin, begin);
    const settled = turn
      .catch(() => {})
      .finally(() => {
        if (this.#turns.get(id) === settled) this.#turns.delete(id);
      });
    this.#turns.set(id, settled);
    return turn;
  }

  /** Counted in memory and written with the next batch. */
  count(kind: SandboxKind, name: Counter): void {
    const key = `${kind}:${name}`;
    this.#counts.set(key, { kind, name, value: (this.#counts.get(key)?.value ?? 0) + 1 });
  }

  unwrittenCounts(): readonly CounterRow[] {
    return [...this.#counts.values()];
  }

  takeCounts(): readonly CounterRow[] {
    const rows = this.unwrittenCounts();
    this.#counts.clear();
    return rows;
  }

  /** Forgets the handle; the sandbox stays as it is. */
  async letGo(id: SandboxId): Promise<void> {
    const live = this.lives.get(id);
    if (live === undefined) return;
    this.lives.delete(id);
    await live.close().catch((cause: unknown) => {
      this.ports.log.debug({ sandboxId: id, error: describe(cause) }, 'handle did not close cleanly');
    });
  }

  async #registerFirst(): Promise<void> {
    this.#beatAt = this.ports.clock.elapsed();
    try {
      await this.#putOwner();
    } catch (cause) {
      this.#registered = undefined;
      throw cause;
    }
    this.onRegistered();
  }

  async #putOwner(): Promise<void> {
    const now = this.ports.clock.now();
    await this.ports.store.putOwner({ ...this.ports.identity, id: this.ownerId, startedAt: now, heartbeatAt: now });
  }
}

/** An error as a log field: code and message, never details of a foreign object. */
export function describe(cause: unknown): string {
  if (SubletError.is(cause)) return `${cause.code}: ${cause.message}`;
  return cause instanceof Error ? cause.message : String(cause);
}

function closedError(): SubletError {
  return new SubletError('CLOSED', 'The manager is closed.', { hint: 'Open a new one with open().' });
}
