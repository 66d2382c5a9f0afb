/** What each change means, as pure functions of rows. Stores differ in how they lock and write, never in this. */
import type { NewEvent } from '../core/events.ts';
import type { OwnerId, SandboxId } from '../core/ids.ts';
import { NOBODY } from '../core/ids.ts';
import type { NetworkLevel } from '../core/network.ts';
import { isAtLeastAsTight, tighter } from '../core/network.ts';
import type { SessionKey } from '../core/session-key.ts';
import type { SandboxState } from '../core/states.ts';
import { canMove } from '../core/states.ts';
import type { HandOver, HandedOver, LeaseWish } from './leases.ts';
import type { BoundSession, LeaseRecord, SandboxRecord, SessionRecord } from './records.ts';
import type { Activity, Move, NewSandbox, NewSession, SandboxPatch, TakenSnapshot } from './store.ts';

/** In other states `dueAt` is when others may take over, which activity must not move. */
const RESTING_STATES: readonly SandboxState[] = ['running', 'paused', 'stopped'];

/** Who leaves takes itself off the list; this bounds what those leave on it who die. */
const MOST_HEIRS = 16;

/** The intent: a row in `creating`. */
export function newSandbox(sandbox: NewSandbox): SandboxRecord {
  return {
    ...sandbox,
    gaps: sandbox.gaps,
    pool: sandbox.pool,
    lane: sandbox.lane,
    terms: sandbox.terms,
    state: 'creating',
    providerId: undefined,
    stateAt: sandbox.createdAt,
    lastActiveAt: sandbox.createdAt,
    lease: undefined,
    fence: 0,
    heirs: [],
    version: 1,
  };
}

/** The key's first binding. The sandbox is at least as tight as the session asks. */
export function newBinding(session: NewSession, sandbox: NewSandbox): BoundSession {
  return {
    session: { ...session, sandboxId: sandbox.id, snapshot: undefined, version: 1 },
    sandbox: newSandbox({
      ...sandbox,
      sessionKey: session.key,
      network: tighter(session.network, sandbox.network),
    }),
  };
}

/** The key bound to another sandbox, which inherits the ratchet. */
export function replacedBinding(session: SessionRecord, sandbox: NewSandbox): BoundSession {
  return {
    session: { ...session, sandboxId: sandbox.id, profile: sandbox.profile, version: session.version + 1 },
    sandbox: newSandbox({
      ...sandbox,
      sessionKey: session.key,
      network: tighter(session.network, sandbox.network),
    }),
  };
}

/** The key bound to what was filled for it, and what it had on its way out; undefined when one of them is not as it must be. */
export function handedOver(
  bound: BoundSession | undefined,
  target: SandboxRecord | undefined,
  move: HandOver,
): HandedOver | undefined {
  if (bound === undefined || target === undefined || bound.session.sandboxId !== move.from) return undefined;
  const { session } = bound;
  const isFit = target.state === 'running' && target.sessionKey === session.key && target.id === move.to;
  if (!isFit || !isAtLeastAsTight(target.network, session.network)) return undefined;
  const left = movedSandbox(bound.sandbox, leavingMove(move));
  return (
    left && {
      bound: {
        session: { ...session, sandboxId: target.id, profile: target.profile, version: session.version + 1 },
        sandbox: { ...target, ephemeral: false, version: target.version + 1 },
      },
      left,
    }
  );
}

function leavingMove({ at, cause, ownerId, token, dueAt }: HandOver): Move {
  return { to: 'destroying', at, cause, ownerId, token, from: RESTING_STATES, patch: { ownerId, dueAt } };
}

/** The row after the move, or undefined when the move is illegal or not from here. */
export function movedSandbox(sandbox: SandboxRecord, move: Move): SandboxRecord | undefined {
  if (!canMove(sandbox.state, move.to)) return undefined;
  if (move.from !== undefined && !move.from.includes(sandbox.state)) return undefined;
  if (move.version !== undefined && move.version !== sandbox.version) return undefined;
  if (move.token !== undefined && move.token !== sandbox.lease?.token) return undefined;
  const lease = RESTING_STATES.includes(move.to) ? sandbox.lease : undefined;
  return { ...patched(sandbox, move.patch ?? {}), state: move.to, stateAt: move.at, cause: move.cause, lease };
}

/** The row after the patch, or undefined when `version` is not the row's. */
export function patchedSandbox(
  sandbox: SandboxRecord,
  patch: SandboxPatch,
  version: number | undefined,
): SandboxRecord | undefined {
  return version !== undefined && version !== sandbox.version ? undefined : patched(sandbox, patch);
}

/** The row after the activity, or undefined when the row already knows of later activity. */
export function touchedSandbox(sandbox: SandboxRecord, activity: Activity): SandboxRecord | undefined {
  if (!RESTING_STATES.includes(sandbox.state) || activity.lastActiveAt <= sandbox.lastActiveAt) return undefined;
  return {
    ...sandbox,
    lastActiveAt: activity.lastActiveAt,
    dueAt: activity.dueAt,
    gaps: activity.gaps ?? sandbox.gaps,
    version: sandbox.version + 1,
  };
}

/** True of a row that is destroyed or lost since before the instant. */
export function hasEnded({ state, stateAt }: SandboxRecord, before: number): boolean {
  return (state === 'destroyed' || state === 'lost') && stateAt < before;
}

/** Session and sandbox after the ratchet, or undefined when both are already at least as tight. */
export function tightenedBinding(bound: BoundSession, level: NetworkLevel, reason: string): BoundSession | undefined {
  const { session, sandbox } = bound;
  const sessionLevel = tighter(session.network, level);
  const sandboxLevel = tighter(sandbox.network, sessionLevel);
  const sessionMoves = sessionLevel !== session.network;
  const sandboxMoves = sandboxLevel !== sandbox.network;
  if (!sessionMoves && !sandboxMoves) return undefined;
  return {
    session: sessionMoves
      ? { ...session, network: sessionLevel, privateReason: reason, version: session.version + 1 }
      : session,
    sandbox: sandboxMoves ? { ...sandbox, network: sandboxLevel, version: sandbox.version + 1 } : sandbox,
  };
}

/** The session with the copy of its working directory, or undefined when it is bound to another sandbox. */
export function snapshottedSession(session: SessionRecord, taken: TakenSnapshot): SessionRecord | undefined {
  if (session.sandboxId !== taken.sandboxId) return undefined;
  return { ...session, snapshot: taken.snapshot, version: session.version + 1 };
}

/** The row with the lease, or undefined when it cannot be had now. */
export function leasedSandbox(sandbox: SandboxRecord, wish: LeaseWish): SandboxRecord | undefined {
  if (!RESTING_STATES.includes(sandbox.state)) return undefined;
  if (sandbox.lease !== undefined && sandbox.lease.expiresAt > wish.at) return undefined;
  // What a holder of a pool's sandbox left is for nobody: it is not passed on but destroyed.
  if (sandbox.lease !== undefined && sandbox.pool !== undefined) return undefined;
  if (sandbox.lease !== undefined && wish.over !== undefined && wish.over !== sandbox.lease.token) return undefined;
  const { holder, ownerId, ttlMs, at } = wish;
  const token = sandbox.fence + 1;
  const lease = { token, holder, ownerId, ttlMs, expiresAt: at + ttlMs };
  return { ...sandbox, lease, fence: token, version: sandbox.version + 1 };
}

/** The row with the lease lasting again as long as it first did from `at`, or undefined when the token is not its lease's. */
export function renewedSandbox(sandbox: SandboxRecord, token: number, at: number): SandboxRecord | undefined {
  if (sandbox.lease?.token !== token) return undefined;
  const lease = { ...sandbox.lease, expiresAt: at + sandbox.lease.ttlMs };
  return { ...sandbox, lease, version: sandbox.version + 1 };
}

/** The row without its lease, or undefined when the token is not its lease's. A pool's is given back or destroyed instead. */
export function releasedSandbox(sandbox: SandboxRecord, token: number): SandboxRecord | undefined {
  if (sandbox.lease?.token !== token || sandbox.pool !== undefined) return undefined;
  return { ...sandbox, lease: undefined, version: sandbox.version + 1 };
}

/** What a new lease tells of itself and of the one it passes over. */
export function leasedEvents(before: SandboxRecord, after: SandboxRecord, at: number): readonly NewEvent[] {
  const { sandboxId, sessionKey } = aboutSandbox(after);
  const tell = (type: NewEvent['type'], lease: LeaseRecord | undefined, cause: string): readonly NewEvent[] =>
    lease === undefined
      ? []
      : [{ sandboxId, sessionKey, ownerId: lease.ownerId, at, type, cause, details: { token: lease.token } }];
  return [
    ...tell('lease.lost', before.lease, `not renewed in time by ${before.lease?.holder}`),
    ...tell('lease.acquired', after.lease, `leased to ${after.lease?.holder}`),
  ];
}

export function releasedEvent(before: SandboxRecord, token: number, cause: string, at: number): NewEvent {
  return {
    ...aboutSandbox(before),
    ownerId: before.lease?.ownerId,
    at,
    type: 'lease.released',
    cause,
    details: { token },
  };
}

export function creatingEvent(sandbox: SandboxRecord): NewEvent {
  return { ...aboutSandbox(sandbox), at: sandbox.createdAt, type: 'sandbox.creating', cause: sandbox.cause };
}

export function movedEvent(sandbox: SandboxRecord, move: Move): NewEvent {
  return {
    ...aboutSandbox(sandbox),
    at: move.at,
    type: move.event ?? `sandbox.${move.to}`,
    ownerId: move.ownerId,
    cause: move.cause,
    details: move.details,
  };
}

export function boundEvent({ sandbox }: BoundSession): NewEvent {
  return { ...aboutSandbox(sandbox), at: sandbox.createdAt, type: 'session.created', cause: sandbox.cause };
}

export function replacedEvent({ sandbox }: BoundSession, replaced: SandboxId): NewEvent {
  return {
    ...aboutSandbox(sandbox),
    at: sandbox.createdAt,
    type: 'session.replaced',
    cause: sandbox.cause,
    details: { replaced },
  };
}

export function handOverEvents({ bound, left }: HandedOver, move: HandOver): readonly NewEvent[] {
  const { at, cause, ownerId } = move;
  const details = { from: left.id, fromProfile: left.profile, toProfile: bound.sandbox.profile };
  return [
    movedEvent(left, leavingMove(move)),
    { ...aboutSandbox(bound.sandbox), ownerId, at, type: 'session.migrated', cause, details },
  ];
}

export function tightenedEvent(before: BoundSession, after: BoundSession, reason: string, at: number): NewEvent {
  return {
    at,
    type: 'network.tightened',
    sandboxId: after.sandbox.id,
    sessionKey: after.session.key,
    cause: reason,
    details: { from: before.session.network, to: after.session.network },
  };
}

export function snapshotEvent({ key }: SessionRecord, { sandboxId, snapshot, cause }: TakenSnapshot): NewEvent {
  const { id, at, bytes } = snapshot;
  return { at, type: 'snapshot.taken', sandboxId, sessionKey: key, cause, details: { id, bytes } };
}

export function removedEvent(key: SessionKey, sandboxId: SandboxId, cause: string, at: number): NewEvent {
  return { at, type: 'session.removed', sandboxId, sessionKey: key, cause };
}

// A sandbox that was cut is never recorded as open again, whoever reports late.
function patched(sandbox: SandboxRecord, patch: SandboxPatch): SandboxRecord {
  return {
    ...sandbox,
    ...patch,
    heirs: patch.heirs ?? heirsAfter(sandbox, patch.ownerId),
    network: tighter(sandbox.network, patch.network ?? sandbox.network),
    version: sandbox.version + 1,
  };
}

// What is half-made, going or made for one purpose has one owner and nobody who would miss it.
function heirsAfter(
  { heirs, ownerId, ephemeral, state }: SandboxRecord,
  next: OwnerId | undefined,
): readonly OwnerId[] {
  if (next === undefined || next === ownerId || ephemeral || !RESTING_STATES.includes(state)) return heirs;
  return [...heirs, ownerId].filter((heir) => heir !== next && heir !== NOBODY).slice(-MOST_HEIRS);
}

function aboutSandbox(sandbox: SandboxRecord): Pick<NewEvent, 'sandboxId' | 'sessionKey' | 'ownerId'> {
  return { sandboxId: sandbox.id, sessionKey: sandbox.sessionKey, ownerId: sandbox.ownerId };
}
