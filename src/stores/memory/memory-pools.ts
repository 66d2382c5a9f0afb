/** Pools in memory. */
import type { NewEvent } from '../../core/events.ts';
import type { SandboxId } from '../../core/ids.ts';
import { isLive } from '../../core/states.ts';
import { leasedEvents, newSandbox } from '../../store/changes.ts';
import {
  IDLE_STATES,
  chosen,
  countAhead,
  isTakeable,
  isWaiting,
  returnedEvent,
  returnedSandbox,
  takenSandbox,
  toPoolCounts,
} from '../../store/pool-changes.ts';
import type { PoolRows, PoolScope } from '../../store/pools.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { Tables } from './tables.ts';

/** What a store in memory lends to its parts. */
export interface MemoryRows {
  readonly open: () => Tables;
  readonly insert: (sandbox: SandboxRecord) => SandboxRecord;
  readonly change: (
    id: SandboxId,
    after: (before: SandboxRecord) => SandboxRecord | undefined,
    events: (before: SandboxRecord, after: SandboxRecord) => readonly NewEvent[],
  ) => SandboxRecord | undefined;
}

export function memoryPools({ open, insert, change }: MemoryRows): PoolRows {
  const membersOf = ({ pool, hostId }: PoolScope): readonly SandboxRecord[] =>
    [...open().sandboxes.values()].filter(
      (row) => row.pool === pool && isLive(row.state) && (hostId === undefined || row.hostId === hostId),
    );
  return {
    async admit(sandbox, scope, maxTotal) {
      return membersOf(scope).length >= maxTotal ? undefined : insert(newSandbox(sandbox));
    },
    async take(wish) {
      const takeable = IDLE_STATES.flatMap((state) =>
        [...open().sandboxes.values()]
          .filter((row) => row.state === state && isTakeable(row, wish))
          .toSorted((a, b) => a.createdAt - b.createdAt),
      );
      const ahead = countAhead([...open().tickets.values()], wish);
      const sandbox = chosen(takeable, ahead, wish.ownerId);
      if (sandbox === undefined) return undefined;
      const taken = change(
        sandbox.id,
        (before) => takenSandbox(before, wish),
        (before, after) => leasedEvents(before, after, wish.at),
      );
      if (taken !== undefined && wish.ticket !== undefined) open().tickets.delete(wish.ticket);
      return taken;
    },
    async giveBack(id, token, cause, at) {
      return change(
        id,
        (before) => returnedSandbox(before, token, at),
        (before) => [returnedEvent(before, token, cause, at)],
      );
    },
    async counts(scope, at) {
      const groups = membersOf(scope).map(({ state, lease }) => ({ state, isLeased: lease !== undefined, count: 1 }));
      const waiting = [...open().tickets.values()].filter(
        (ticket) =>
          ticket.pool === scope.pool &&
          (scope.hostId === undefined || ticket.hostId === scope.hostId) &&
          isWaiting(ticket, at),
      );
      return toPoolCounts(groups, waiting.length);
    },
    async names() {
      const names = [...open().sandboxes.values()].flatMap(({ pool, state }) =>
        pool === undefined || !isLive(state) ? [] : [pool],
      );
      return [...new Set(names)].toSorted();
    },
    async queue({ at, ...ticket }) {
      const tables = open();
      tables.lastTicket += 1;
      tables.tickets.set(tables.lastTicket, { ...ticket, number: tables.lastTicket, untilAt: at + ticket.ttlMs });
      return tables.lastTicket;
    },
    async stay(ownerId, at) {
      const { tickets } = open();
      for (const ticket of tickets.values())
        if (ticket.ownerId === ownerId) tickets.set(ticket.number, { ...ticket, untilAt: at + ticket.ttlMs });
    },
    async unqueue(ticket) {
      open().tickets.delete(ticket);
    },
    async keep(pool, lane, ownerId) {
      open().keepers.set(`${pool}\0${ownerId}`, { pool, lane, ownerId });
    },
    async unkeep(pool, ownerId) {
      open().keepers.delete(`${pool}\0${ownerId}`);
    },
    async keepers(pool) {
      const { keepers, owners } = open();
      return [...keepers.values()].flatMap((keeper) => {
        const owner = owners.get(keeper.ownerId);
        return owner === undefined || keeper.pool !== pool ? [] : [{ lane: keeper.lane, owner }];
      });
    },
    async addToTallies(rows) {
      const { tallies } = open();
      for (const row of rows) {
        const key = `${row.pool}\0${row.name}`;
        tallies.set(key, { ...row, value: row.value + (tallies.get(key)?.value ?? 0) });
      }
    },
    async tallies(pool) {
      return [...open().tallies.values()].filter((row) => row.pool === pool);
    },
  };
}
