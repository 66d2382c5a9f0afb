/** What happened to a session since it was last used. */
import type { SandboxId } from './ids.ts';
import type { NetworkLevel } from './network.ts';
import type { PassedOver } from './routing.ts';

/** What the caller must know about a session besides its sandbox: typed, so that an agent can be told. */
export type SessionNotice =
  | { readonly type: 'replaced'; readonly at: number; readonly lostSandboxId: SandboxId; readonly message: string }
  /** It was lost, and its working directory is as it was at `snapshotAt`. */
  | {
      readonly type: 'restored';
      readonly at: number;
      readonly lostSandboxId: SandboxId;
      readonly snapshotAt: number;
      readonly message: string;
    }
  /** It was found without processes: files are kept, what ran is gone. */
  | { readonly type: 'restarted'; readonly at: number; readonly message: string }
  /** It was made at a later choice of the caller's list. */
  | {
      readonly type: 'routed';
      readonly at: number;
      readonly profile: string;
      readonly passedOver: readonly PassedOver[];
      readonly message: string;
    }
  | {
      readonly type: 'migrated';
      readonly at: number;
      readonly fromSandboxId: SandboxId;
      readonly profile: string;
      readonly message: string;
    }
  | { readonly type: 'network-tightened'; readonly at: number; readonly level: NetworkLevel; readonly message: string };
