/** What the manager needs from outside: two contracts, time, a logger and who it is. */
import type { SandboxOptions } from '../core/api.ts';
import type { Clock } from '../core/clock.ts';
import type { OwnerId } from '../core/ids.ts';
import type { SandboxKind } from '../core/session-key.ts';
import type { SnapshotArchive } from '../core/snapshots.ts';
import type { ResolvedSandbox } from '../core/spec.ts';
import type { SandboxProvider } from '../provider/provider.ts';
import type { OwnerRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';

export interface ManagerPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Profile, environment, call and defaults merged. `previousProfile`: what this session used before. */
  resolve(
    options: SandboxOptions,
    facts: { readonly kind: SandboxKind; readonly previousProfile?: string | undefined },
  ): Promise<ResolvedSandbox>;
  /** The adapter for a profile; the same instance every time. Works for a profile whose file is gone, with default options. */
  provider(id: string, profile: string): Promise<SandboxProvider>;
  /** Whether this process of this machine, told apart by its start, still runs; undefined when that cannot be found out. */
  isRunning(process: { readonly pid: number; readonly pidStartedAt: number }): Promise<boolean | undefined>;
  /** Something at this provider would outlive this process: has what it leaves seen to if it dies. Twice is harmless. */
  watch?(ownerId: OwnerId, providerId: string): void;
  /** The names of the pools that profiles have; absent where there are no profiles. */
  pools?(): Promise<readonly string[]>;
  /** Where copies of working directories are kept; absent where they are not. */
  snapshots?(): Promise<SnapshotArchive>;
  readonly identity: Pick<OwnerRecord, 'hostId' | 'hostName' | 'bootId' | 'pidNamespace' | 'pid' | 'pidStartedAt'>;
}
