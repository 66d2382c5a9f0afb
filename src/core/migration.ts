/** Moving a session to another place: what is asked, and what is said of it afterwards. */
import type { SandboxId } from './ids.ts';
import type { NetworkLevel } from './network.ts';
import type { SessionKey } from './session-key.ts';

export interface MigrateOptions {
  /** A profile's name or a provider's id. Of several, in a list or with commas, the first that can make it. */
  readonly to: string | readonly string[];
  /** Ends what runs in the background first. Without it a directory that changes meanwhile makes the migration fail. */
  readonly endCommands?: boolean | undefined;
  /** Says what would stay behind, and does nothing. */
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface MigrationPlace {
  readonly provider: string;
  readonly profile: string;
  /** Of what is yet to be made, undefined. */
  readonly sandboxId: SandboxId | undefined;
}

/** Something that a session had and does not have any more. */
export interface LeftBehind {
  readonly what: 'processes' | 'memory' | 'ports' | 'volume' | 'mounts' | 'outside' | 'owners' | 'sockets';
  readonly message: string;
}

export interface MigrationReport {
  readonly key: SessionKey;
  readonly from: MigrationPlace;
  readonly to: MigrationPlace;
  /** Of the session, before and after. */
  readonly network: NetworkLevel;
  /** Files, directories and links that are at the target as they were at the source: each was compared by its hash. */
  readonly entries: number;
  readonly bytes: number;
  /** Of the manifest: names, modes, links and the hashes of contents. */
  readonly sha256: string;
  readonly left: readonly LeftBehind[];
  readonly dryRun: boolean;
}
