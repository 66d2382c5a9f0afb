/**
 * The store contract: what is remembered. Every method is one short transaction; changes of state are compare-and-set.
 * After `close` every method rejects with CLOSED. What else can fail: STORE_BUSY, STORE_FAILED, STORE_CORRUPT.
 */
import type { GapSummary } from '../core/adaptive-idle.ts';
import type { EventFilter, NewEvent, SubletEvent } from '../core/events.ts';
import type { OwnerId, SandboxId } from '../core/ids.ts';
import type { NetworkLevel } from '../core/network.ts';
import type { SandboxKind, SessionKey } from '../core/session-key.ts';
import type { SnapshotInfo } from '../core/snapshots.ts';
import type { SandboxState } from '../core/states.ts';
import type { Leases } from './leases.ts';
import type { Ledger } from './ledger.ts';
import type { PoolRows } from './pools.ts';
import type { BoundSession, Counter, NewSandbox, OwnerRecord, SandboxRecord, SessionRecord } from './records.ts';

export type { NewSandbox } from './records.ts';

/** What every query returns at most unless told otherwise. */
export const DEFAULT_LIMIT = 1000;

export type NewSession = Omit<SessionRecord, 'version' | 'sandboxId' | 'snapshot'>;

export type SandboxPatch = Partial<
  Pick<
    SandboxRecord,
    'providerId' | 'network' | 'lastActiveAt' | 'dueAt' | 'deadManAt' | 'ownerId' | 'heirs' | 'hostId' | 'hostName'
  >
>;

export interface Move {
  readonly to: SandboxState;
  readonly at: number;
  readonly cause: string;
  readonly ownerId: OwnerId;
  /** Only from these; default: every state from which `to` is legal. */
  readonly from?: readonly SandboxState[] | undefined;
  /** Only this version. Default: any. */
  readonly version?: number | undefined;
  /** Only while this is its lease. */
  readonly token?: number | undefined;
  readonly patch?: SandboxPatch | undefined;
  /** For the event. */
  readonly details?: NewEvent['details'];
  /** Other than `sandbox.<to>`: `sandbox.resumed`, `sandbox.started`. */
  readonly event?: NewEvent['type'] | undefined;
}

export interface SandboxQuery {
  readonly states?: readonly SandboxState[] | undefined;
  readonly provider?: string | undefined;
  readonly ownerId?: OwnerId | undefined;
  readonly notOwnedBy?: readonly OwnerId[] | undefined;
  readonly sessionKey?: SessionKey | undefined;
  readonly idPrefix?: string | undefined;
  readonly ephemeral?: boolean | undefined;
  readonly pool?: string | undefined;
  /** Due at or before this instant, most overdue first unless `afterId`. Served by an index. */
  readonly dueBy?: number | undefined;
  /** For passes over everything, page by page: in the order of ids, and only greater ones. Begin with ''. */
  readonly afterId?: string | undefined;
  /** Default 1000. Order: newest first, unless `dueBy` or `afterId`. */
  readonly limit?: number | undefined;
}

export interface Activity {
  readonly sandboxId: SandboxId;
  readonly lastActiveAt: number;
  readonly dueAt: number | undefined;
  /** What was known stays where this is not given. */
  readonly gaps?: GapSummary | undefined;
}

export interface CounterRow {
  readonly kind: SandboxKind;
  readonly name: Counter;
  readonly value: number;
}

export interface Claimed {
  readonly won: boolean;
  readonly bound: BoundSession;
}

export interface Replaced {
  readonly won: boolean;
  /** undefined when the key has no session. */
  readonly bound: BoundSession | undefined;
}

export interface TakenSnapshot {
  readonly sandboxId: SandboxId;
  readonly snapshot: SnapshotInfo;
  readonly cause: string;
}

export interface Store {
  readonly leases: Leases;
  readonly ledger: Ledger;
  readonly pools: PoolRows;

  /** This installation's id, made once with the store. */
  installation(): Promise<string>;

  putOwner(owner: OwnerRecord): Promise<void>;
  getOwner(id: OwnerId): Promise<OwnerRecord | undefined>;
  listOwners(): Promise<readonly OwnerRecord[]>;
  /** False when there is no such owner: it was given up for dead and must put itself again. */
  heartbeat(id: OwnerId, at: number): Promise<boolean>;
  /** Only while its last heartbeat is `heartbeatAt`, where that is given. */
  removeOwner(id: OwnerId, heartbeatAt?: number): Promise<boolean>;

  /**
   * The intent: a row in `creating`, committed before the provider is asked, with event `sandbox.creating`.
   * An id that is taken → STATE_CONFLICT.
   */
  insertSandbox(sandbox: NewSandbox): Promise<SandboxRecord>;
  getSandbox(id: SandboxId): Promise<SandboxRecord | undefined>;
  findSandboxes(query: SandboxQuery): Promise<readonly SandboxRecord[]>;
  countSandboxes(
    query: Pick<SandboxQuery, 'states' | 'provider' | 'ephemeral'>,
  ): Promise<Readonly<Record<SandboxKind, number>>>;
  /**
   * Moves and appends the event, or returns undefined and changes nothing when state or version differ. The row keeps
   * its owner unless the patch names another.
   */
  moveSandbox(id: SandboxId, move: Move): Promise<SandboxRecord | undefined>;
  /**
   * Changes fields without a move; undefined if the row is gone or `version` differs. A field that is present and
   * undefined is cleared. `network` only tightens: a weaker level leaves it as it is. A session's sandbox that gets another
   * owner has the one before among its heirs, unless the patch says who they are.
   */
  patchSandbox(id: SandboxId, patch: SandboxPatch, version?: number): Promise<SandboxRecord | undefined>;
  /**
   * Later activity only: an older instant never overwrites a newer one. One transaction for all. Only of what is running,
   * paused or stopped: elsewhere `dueAt` is not about activity.
   */
  touch(activities: readonly Activity[]): Promise<void>;
  /** Forgets destroyed and lost rows that are no session's, in that state since before the instant. Returns how many. */
  pruneSandboxes(before: number): Promise<number>;

  getSession(key: SessionKey): Promise<BoundSession | undefined>;
  /** Newest first. Of one session and its members alone, where its key is given. Default limit 1000. */
  listSessions(limit?: number, family?: SessionKey): Promise<readonly BoundSession[]>;
  /** Those whose sandbox is destroyed or lost since before the instant, in any order: what may be removed. */
  endedSessions(before: number, limit?: number): Promise<readonly BoundSession[]>;
  /**
   * Binds the key to a new sandbox in `creating`, or returns the present binding: exactly one caller wins,
   * however many ask at once from however many processes. The sandbox gets the key, and a network at least as tight as
   * the session's. Appends `sandbox.creating` and `session.created`. A key with a NUL character → USAGE, here and below.
   */
  claimSession(session: NewSession, sandbox: NewSandbox): Promise<Claimed>;
  /**
   * As `claimSession`, replacing exactly `expected`; the loser gets what the winner bound. The session takes the new
   * sandbox's profile and keeps its ratchet. Appends `sandbox.creating` and `session.replaced`.
   */
  replaceSandbox(key: SessionKey, expected: SandboxId, sandbox: NewSandbox): Promise<Replaced>;
  /** The ratchet, for the session and its sandbox: a weaker level changes nothing. Appends `network.tightened` when it moved. */
  tightenSession(key: SessionKey, level: NetworkLevel, reason: string, at: number): Promise<BoundSession | undefined>;
  /** Only while it is bound to this sandbox; undefined otherwise. Appends `snapshot.taken`. */
  keepSnapshot(key: SessionKey, taken: TakenSnapshot): Promise<SessionRecord | undefined>;
  /** Only while it is bound to this sandbox. Appends `session.removed`. */
  removeSession(key: SessionKey, sandboxId: SandboxId, cause: string, at: number): Promise<boolean>;

  appendEvents(events: readonly NewEvent[]): Promise<void>;
  /** `after` bounds both directions: events with a greater number. Default limit 1000. */
  listEvents(filter: EventFilter): Promise<readonly SubletEvent[]>;
  /** Forgets all but the newest. Returns how many. A number is never given twice. */
  pruneEvents(keepNewest: number): Promise<number>;

  addToCounters(rows: readonly CounterRow[]): Promise<void>;
  counters(): Promise<readonly CounterRow[]>;

  close(): Promise<void>;
}
