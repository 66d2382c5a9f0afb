/** What each change means, as pure functions of rows. Stores differ in how they lock and write, never in this. */
import type { NewEvent } from '../core/events.ts';
import type { SandboxId } from '../core/ids.ts';
import type { NetworkLevel } from '../core/network.ts';
import { tighter } from '../core/network.ts';
import type { SessionKey } from '../core/session-key.ts';
import type { SandboxState } from '../core/states.ts';
import { canMove } from '../core/states.ts';
import type { BoundSession, SandboxRecord, SessionRecord } from './records.ts';
import type { Activity, Move, NewSandbox, NewSession, SandboxPatch } from './store.ts';

/** In other states `dueAt` is when others may take over, which activity must not move. */
const RESTING_STATES: readonly SandboxState[] = ['running', 'paused', 'stopped'];

/** The intent: a row in `creating`. */
export function newSandbox(sandbox: NewSandbox): SandboxRecord {
  return {
    ...sandbox,
    state: 'creating',
    providerId: undefined,
    stateAt: sandbox.createdAt,
    lastActiveAt: sandbox.createdAt,
    version: 1,
  };
}

/** The key's first binding. The sandbox is at least as tight as the session asks. */
export function newBinding(session: NewSession, sandbox: NewSandbox): BoundSession {
  return {
    session: { ...session, sandboxId: sandbox.id, version: 1 },
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

/** The row after the move, or undefined when the move is illegal or not from here. */
export function movedSandbox(sandbox: SandboxRecord, move: Move): SandboxRecord | undefined {
  if (!canMove(sandbox.state, move.to)) return undefined;
  if (move.from !== undefined && !move.from.includes(sandbox.state)) return undefined;
  if (move.version !== undefined && move.version !== sandbox.version) return undefined;
  return { ...patched(sandbox, move.patch ?? {}), state: move.to, stateAt: move.at, cause: move.cause };
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
    version: sandbox.version + 1,
  };
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

export function removedEvent(key: SessionKey, sandboxId: SandboxId, cause: string, at: number): NewEvent {
  return { at, type: 'session.removed', sandboxId, sessionKey: key, cause };
}

// A sandbox that was cut is never recorded as open again, whoever reports late.
function patched(sandbox: SandboxRecord, patch: SandboxPatch): SandboxRecord {
  return {
    ...sandbox,
    ...patch,
    network: tighter(sandbox.network, patch.network ?? sandbox.network),
    version: sandbox.version + 1,
  };
}

function aboutSandbox(sandbox: SandboxRecord): Pick<NewEvent, 'sandboxId' | 'sessionKey' | 'ownerId'> {
  return { sandboxId: sandbox.id, sessionKey: sandbox.sessionKey, ownerId: sandbox.ownerId };
}
