/** Leases in memory. */
import {
  handOverEvents,
  handedOver,
  leasedEvents,
  leasedSandbox,
  releasedEvent,
  releasedSandbox,
  renewedSandbox,
} from '../../store/changes.ts';
import type { Leases } from '../../store/leases.ts';
import { checkKey } from '../../store/refusals.ts';
import { frozen } from './frozen.ts';
import type { MemoryRows } from './memory-pools.ts';

export function memoryLeases({ open, change }: MemoryRows): Leases {
  return {
    acquire: async (id, wish) =>
      change(
        id,
        (before) => leasedSandbox(before, wish),
        (before, after) => leasedEvents(before, after, wish.at),
      ),
    renew: async (id, token, at) =>
      change(
        id,
        (before) => renewedSandbox(before, token, at),
        () => [],
      ),
    release: async (id, token, cause, at) =>
      change(
        id,
        (before) => releasedSandbox(before, token),
        (before) => [releasedEvent(before, token, cause, at)],
      ),
    async handOver(key, move) {
      checkKey(key);
      const { sessions, sandboxes } = open();
      const [session, sandbox] = [sessions.get(key), sandboxes.get(move.from)];
      const moved = handedOver(session && sandbox && { session, sandbox }, sandboxes.get(move.to), move);
      if (moved === undefined) return undefined;
      const { bound, left } = moved;
      change(
        left.id,
        () => left,
        () => handOverEvents(moved, move),
      );
      change(
        bound.sandbox.id,
        () => bound.sandbox,
        () => [],
      );
      sessions.set(key, frozen(bound.session));
      return moved;
    },
  };
}
