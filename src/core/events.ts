/** What happened, noun first. Events are append-only and never carry a secret or an env value. */
import type { OwnerId, SandboxId } from './ids.ts';
import type { SessionKey } from './session-key.ts';

export const EVENT_TYPES = [
  'sandbox.creating',
  'sandbox.running',
  'sandbox.paused',
  'sandbox.resumed',
  'sandbox.stopped',
  'sandbox.started',
  'sandbox.destroying',
  'sandbox.destroyed',
  'sandbox.lost',
  'session.created',
  'session.replaced',
  'session.migrated',
  'session.removed',
  'session.restored',
  'snapshot.taken',
  'network.tightened',
  'health.failed',
  'lease.acquired',
  'lease.released',
  'lease.lost',
  'owner.died',
  'orphan.found',
  'route.passed-over',
  'provider.tripped',
  'provider.recovered',
  'pool.returned',
  'pool.discarded',
  'pool.exhausted',
  'pool.tripped',
  'pool.recovered',
  'pool.drained',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface NewEvent {
  readonly at: number;
  readonly type: EventType;
  readonly sandboxId?: SandboxId | undefined;
  readonly sessionKey?: SessionKey | undefined;
  readonly ownerId?: OwnerId | undefined;
  /** Why, in words a user can read: "idle for 10 minutes", "asked by the CLI". */
  readonly cause: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export interface SubletEvent extends NewEvent {
  /** Ascending within one store; a cursor for `after`. */
  readonly seq: number;
}

export interface EventFilter {
  readonly sandboxId?: SandboxId | undefined;
  readonly sessionKey?: SessionKey | undefined;
  readonly after?: number | undefined;
  /** Newest first when true. */
  readonly descending?: boolean | undefined;
  readonly limit?: number | undefined;
}
