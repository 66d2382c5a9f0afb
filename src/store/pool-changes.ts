/** What each change of a pool means, as pure functions of rows. Stores differ in how they lock and write, never in this. */
import type { NewEvent } from '../core/events.ts';
import { dueAt } from '../core/expiry.ts';
import type { OwnerId } from '../core/ids.ts';
import type { PoolCounts } from '../core/pool-settings.ts';
import type { SandboxState } from '../core/states.ts';
import { leasedSandbox } from './changes.ts';
import type { NewTicket, TakeWish } from './pools.ts';
import type { SandboxRecord } from './records.ts';

export interface Ticket extends Omit<NewTicket, 'at'> {
  readonly number: number;
  readonly untilAt: number;
}

/** How many of each, as an index tells them. */
export interface PoolGroup {
  readonly state: SandboxState;
  readonly isLeased: boolean;
  readonly count: number;
}

/** In the order in which they are handed over. */
export const IDLE_STATES = ['running', 'paused'] as const;

/** True of a row that the wish can have. */
export function isTakeable(sandbox: SandboxRecord, wish: TakeWish): boolean {
  const { state, lease, terms } = sandbox;
  if (sandbox.pool !== wish.pool || sandbox.lane !== wish.lane || lease !== undefined) return false;
  if (state !== 'running' && state !== 'paused') return false;
  return sandbox.network === wish.network && (terms?.expiresAt === undefined || terms.expiresAt > wish.at);
}

/** The row with its lease and its new owner. It stays due when it was: whoever looks then sees that it is leased. */
export function takenSandbox(sandbox: SandboxRecord, wish: TakeWish): SandboxRecord | undefined {
  const { ownerId, hostId, hostName, at } = wish;
  const leased = leasedSandbox(sandbox, wish);
  // The same list where it is empty, so that a store need not write it.
  const heirs = sandbox.heirs.length === 0 ? sandbox.heirs : [];
  return leased && { ...leased, ownerId, hostId, hostName, heirs, lastActiveAt: at };
}

/** The row as it waits again, or undefined when the token is not its lease's. */
export function returnedSandbox(sandbox: SandboxRecord, token: number, at: number): SandboxRecord | undefined {
  if (sandbox.lease?.token !== token || sandbox.terms === undefined) return undefined;
  const idle = { ...sandbox, lease: undefined, lastActiveAt: at, version: sandbox.version + 1 };
  return { ...idle, dueAt: dueAt(idle) };
}

export function returnedEvent(before: SandboxRecord, token: number, cause: string, at: number): NewEvent {
  const { id: sandboxId, ownerId, pool } = before;
  return { at, type: 'pool.returned', sandboxId, ownerId, cause, details: { pool, token } };
}

/**
 * One that lasts for longer than twice its term from now was given under a clock that has been set back, and is over. Not once
 * its term: it may have been renewed a moment after `at` was read.
 */
export function isWaiting({ untilAt, ttlMs }: Pick<Ticket, 'untilAt' | 'ttlMs'>, at: number): boolean {
  return untilAt > at && untilAt <= at + 2 * ttlMs;
}

/** How many come before the caller. */
export function countAhead(tickets: readonly Ticket[], wish: TakeWish): number {
  const { ticket = Infinity, lane, at } = wish;
  return tickets.filter((other) => other.lane === lane && other.number < ticket && isWaiting(other, at)).length;
}

/** Of what is takeable, in order, the one that the caller gets; undefined when those ahead need them all. */
export function chosen(takeable: readonly SandboxRecord[], ahead: number, ownerId: OwnerId): SandboxRecord | undefined {
  if (takeable.length <= ahead) return undefined;
  const [first] = takeable;
  // A handle of its own saves the taker a question to the provider; a sandbox that sleeps costs more than that.
  return takeable.find((sandbox) => sandbox.ownerId === ownerId && sandbox.state === first?.state) ?? first;
}

export function toPoolCounts(groups: readonly PoolGroup[], waiting: number): PoolCounts {
  const sum = (matches: (group: PoolGroup) => boolean): number =>
    groups.filter(matches).reduce((total, { count }) => total + count, 0);
  return {
    total: sum(() => true),
    idle: sum(({ state, isLeased }) => state === 'running' && !isLeased),
    paused: sum(({ state, isLeased }) => state === 'paused' && !isLeased),
    leased: sum(({ isLeased }) => isLeased),
    creating: sum(({ state }) => state === 'creating'),
    waiting,
  };
}
