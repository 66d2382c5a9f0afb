/** The memory store's rows. Every value is frozen. */
import type { SubletEvent } from '../../core/events.ts';
import type { OwnerId, SandboxId } from '../../core/ids.ts';
import { newId } from '../../core/ids.ts';
import type { SessionKey } from '../../core/session-key.ts';
import type { Placement, Sighting } from '../../store/ledger.ts';
import type { Turn } from '../../store/ledger-changes.ts';
import type { Ticket } from '../../store/pool-changes.ts';
import type { TallyRow } from '../../store/pools.ts';
import type { OwnerRecord, SandboxRecord, SessionRecord } from '../../store/records.ts';
import type { CounterRow } from '../../store/store.ts';

export interface Tables {
  readonly installation: string;
  readonly owners: Map<OwnerId, OwnerRecord>;
  readonly sandboxes: Map<SandboxId, SandboxRecord>;
  readonly sessions: Map<SessionKey, SessionRecord>;
  readonly events: SubletEvent[];
  /** Outlives pruned events: a number is never given twice. */
  lastSeq: number;
  readonly counters: Map<string, CounterRow>;
  readonly sightings: Map<string, readonly Sighting[]>;
  readonly turns: Map<string, Turn>;
  readonly placements: Map<string, Placement>;
  readonly tickets: Map<number, Ticket>;
  /** A place in the queue is never given twice. */
  lastTicket: number;
  readonly keepers: Map<string, { readonly pool: string; readonly lane: string; readonly ownerId: OwnerId }>;
  readonly tallies: Map<string, TallyRow>;
}

export function emptyTables(): Tables {
  return {
    installation: newId('ins'),
    owners: new Map(),
    sandboxes: new Map(),
    sessions: new Map(),
    events: [],
    lastSeq: 0,
    counters: new Map(),
    sightings: new Map(),
    turns: new Map(),
    placements: new Map(),
    tickets: new Map(),
    lastTicket: 0,
    keepers: new Map(),
    tallies: new Map(),
  };
}
