/** Queries over rows in memory. */
import type { EventFilter, SubletEvent } from '../../core/events.ts';
import type { SandboxKind, SessionKey } from '../../core/session-key.ts';
import { memberRange } from '../../core/session-key.ts';
import type { SandboxRecord, SessionRecord } from '../../store/records.ts';
import type { SandboxQuery } from '../../store/store.ts';

export function matches(sandbox: SandboxRecord, query: SandboxQuery): boolean {
  return (
    (query.states === undefined || query.states.includes(sandbox.state)) &&
    (query.provider === undefined || query.provider === sandbox.provider) &&
    (query.ownerId === undefined || query.ownerId === sandbox.ownerId) &&
    (query.notOwnedBy === undefined || !query.notOwnedBy.includes(sandbox.ownerId)) &&
    (query.afterId === undefined || sandbox.id > query.afterId) &&
    (query.sessionKey === undefined || query.sessionKey === sandbox.sessionKey) &&
    (query.idPrefix === undefined || sandbox.id.startsWith(query.idPrefix)) &&
    (query.ephemeral === undefined || query.ephemeral === sandbox.ephemeral) &&
    (query.pool === undefined || query.pool === sandbox.pool) &&
    (query.dueBy === undefined || (sandbox.dueAt !== undefined && sandbox.dueAt <= query.dueBy))
  );
}

export function isAsked(event: SubletEvent, filter: EventFilter): boolean {
  return (
    (filter.sandboxId === undefined || event.sandboxId === filter.sandboxId) &&
    (filter.sessionKey === undefined || event.sessionKey === filter.sessionKey) &&
    event.seq > (filter.after ?? 0)
  );
}

/** All of them, or one with its members. */
export function sessionsOf(
  sessions: ReadonlyMap<SessionKey, SessionRecord>,
  family: SessionKey | undefined,
): readonly SessionRecord[] {
  if (family === undefined) return [...sessions.values()];
  const [from, below] = memberRange(family);
  return [...sessions.values()].filter(({ key }) => key === family || (key >= from && key < below));
}

export function newestFirst(a: { readonly createdAt: number }, b: { readonly createdAt: number }): number {
  return b.createdAt - a.createdAt;
}

export function overdueFirst(a: SandboxRecord, b: SandboxRecord): number {
  return (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity);
}

export function inOrder(query: SandboxQuery): (a: SandboxRecord, b: SandboxRecord) => number {
  if (query.afterId !== undefined) return (a, b) => (a.id < b.id ? -1 : 1);
  return query.dueBy === undefined ? newestFirst : overdueFirst;
}

export function countByKind(sandboxes: readonly SandboxRecord[]): Readonly<Record<SandboxKind, number>> {
  const counts: Record<SandboxKind, number> = { execution: 0, app: 0, desktop: 0 };
  for (const { kind } of sandboxes) counts[kind] += 1;
  return counts;
}
