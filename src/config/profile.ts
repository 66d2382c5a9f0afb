/** Profile files, validated and frozen: of one sandbox, or of an ordered choice of them. */
import type { Need } from '../core/needs.ts';
import type { NetworkLevel } from '../core/network.ts';
import type { LifecyclePolicy } from '../core/policy.ts';
import type { PoolOverrides } from '../core/pool-settings.ts';
import type { SandboxKind } from '../core/session-key.ts';
import type { Limits, Mount } from '../core/spec.ts';
import type { Secret } from './secret.ts';

export interface Profile {
  readonly choices?: undefined;
  /** What `--sandbox` takes: the file's name without `.json`. */
  readonly name: string;
  readonly file: string;
  readonly provider: string;
  readonly kind: SandboxKind | undefined;
  readonly image: string | undefined;
  readonly network: NetworkLevel | undefined;
  readonly env: Readonly<Record<string, Secret>>;
  readonly limits: Limits;
  readonly mounts: readonly Mount[];
  readonly contextId: string | undefined;
  readonly needs: readonly Need[];
  readonly policy: Partial<LifecyclePolicy>;
  readonly pools: Readonly<Record<string, PoolOverrides>>;
  /** The section named after the provider, without its secrets and without defaults. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The section's secrets, by the variable that could hold them instead. */
  readonly secrets: Readonly<Record<string, Secret>>;
}

/** A profile file that says where, and leaves what to the profiles it names. */
export interface RouteProfile {
  readonly name: string;
  readonly file: string;
  /** Names of profiles and providers, in order. */
  readonly choices: readonly string[];
  readonly provider?: undefined;
  readonly pools?: undefined;
  readonly network: NetworkLevel | undefined;
  readonly needs: readonly Need[];
}

/** What a profile may be called. It becomes a file name, so it cannot be a path. */
export function isProfileName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(name);
}
