/** The rows every store keeps. Plain data; instants are epoch milliseconds. No secret and no env value is ever in one. */
import type { GapSummary } from '../core/adaptive-idle.ts';
import type { OwnerId, SandboxId } from '../core/ids.ts';
import type { NetworkLevel } from '../core/network.ts';
import type { LifecyclePolicy } from '../core/policy.ts';
import type { PoolTerms } from '../core/pool-settings.ts';
import type { SandboxKind, SessionKey } from '../core/session-key.ts';
import type { SnapshotInfo } from '../core/snapshots.ts';
import type { Limits, Mount } from '../core/spec.ts';
import type { SandboxState } from '../core/states.ts';

/** One running manager. Enough to tell, on the same machine, whether it still lives. */
export interface OwnerRecord {
  readonly id: OwnerId;
  readonly hostId: string;
  readonly hostName: string;
  readonly bootId: string;
  /** Which numbering of processes `pid` belongs to: containers on one machine have their own. */
  readonly pidNamespace: string;
  readonly pid: number;
  /** The process's start time as the kernel counts it: a reused pid is not the same process. */
  readonly pidStartedAt: number;
  readonly startedAt: number;
  readonly heartbeatAt: number;
}

/** What is needed to make the sandbox again: everything of the spec but secrets. */
export interface StoredSpec {
  readonly image?: string | undefined;
  readonly limits?: Limits | undefined;
  readonly mounts?: readonly Mount[] | undefined;
  readonly contextId?: string | undefined;
}

/** An exclusive, time-bounded right to use a sandbox. */
export interface LeaseRecord {
  /** Grows with every lease of the sandbox: whoever holds a smaller one has lost it. */
  readonly token: number;
  /** Who holds it, in the caller's words. */
  readonly holder: string;
  readonly ownerId: OwnerId;
  readonly ttlMs: number;
  readonly expiresAt: number;
}

export interface SandboxRecord {
  readonly id: SandboxId;
  /** Its name at the provider. */
  readonly name: string;
  readonly provider: string;
  readonly profile: string;
  readonly kind: SandboxKind;
  readonly state: SandboxState;
  readonly ephemeral: boolean;
  readonly ownerId: OwnerId;
  /** Those who had it before its owner, the last one last: who of them lives gets it when its owner is gone. */
  readonly heirs: readonly OwnerId[];
  readonly hostId: string;
  readonly hostName: string;
  readonly sessionKey: SessionKey | undefined;
  readonly providerId: string | undefined;
  readonly network: NetworkLevel;
  readonly policy: LifecyclePolicy;
  readonly spec: StoredSpec;
  readonly createdAt: number;
  readonly stateAt: number;
  readonly lastActiveAt: number;
  /** Between its uses, where its idle time-out follows them. */
  readonly gaps: GapSummary | undefined;
  /** When the sweep must look at it; undefined = never. In `creating` and `destroying`, when others may take over. */
  readonly dueAt: number | undefined;
  readonly deadManAt: number | undefined;
  readonly cause: string;
  readonly lease: LeaseRecord | undefined;
  /** The last token given out. */
  readonly fence: number;
  /** The pool that it is of. */
  readonly pool: string | undefined;
  /** What it is, as one word: whoever takes from the pool gets the same. */
  readonly lane: string | undefined;
  readonly terms: PoolTerms | undefined;
  /** Grows with every change. */
  readonly version: number;
}

/** What is written before a sandbox is made. */
export type NewSandbox = Omit<
  SandboxRecord,
  | 'version'
  | 'state'
  | 'providerId'
  | 'stateAt'
  | 'lastActiveAt'
  | 'lease'
  | 'fence'
  | 'heirs'
  | 'gaps'
  | 'pool'
  | 'lane'
  | 'terms'
> &
  Partial<Pick<SandboxRecord, 'gaps' | 'pool' | 'lane' | 'terms'>>;

export interface SessionRecord {
  readonly key: SessionKey;
  readonly kind: SandboxKind;
  readonly profile: string;
  readonly sandboxId: SandboxId;
  /** The ratchet: never weaker again, whatever sandbox the key has. */
  readonly network: NetworkLevel;
  readonly privateReason: string | undefined;
  /** The last copy of its working directory. */
  readonly snapshot: SnapshotInfo | undefined;
  readonly createdAt: number;
  readonly version: number;
}

export interface BoundSession {
  readonly session: SessionRecord;
  readonly sandbox: SandboxRecord;
}

export const COUNTERS = ['created', 'cleaned', 'reused', 'healthCheckFailures'] as const;
export type Counter = (typeof COUNTERS)[number];
