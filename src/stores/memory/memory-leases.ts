/** Leases in memory. */
import type { SandboxId } from '../../core/ids.ts';
import { leasedEvents, leasedSandbox, releasedEvent, releasedSandbox, renewedSandbox } from '../../store/changes.ts';
import type { Leases } from '../../store/leases.ts';
import type { SandboxRecord } from '../../store/records.ts';
import type { NewEvent } from '../../core/events.ts';

export function memoryLeases(
  change: (
    id: SandboxId,
    after: (before: SandboxRecord) => SandboxRecord | undefined,
    events: (before: SandboxRecord, after: SandboxRecord) => readonly NewEvent[],
  ) => SandboxRecord | undefined,
): Leases {
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
  };
}
