/** How a sandbox is made and how it is held: what callers say. */
import type { Need } from './needs.ts';
import type { NetworkLevel } from './network.ts';
import type { LifecyclePolicy } from './policy.ts';
import type { Limits, Mount } from './spec.ts';

/** How a sandbox is made. Every field outranks the profile, the environment and the defaults. */
export interface SandboxOptions {
  /** A profile's name or a provider's id. Of several, in a list or with commas, the first that can make it. */
  readonly sandbox?: string | readonly string[] | undefined;
  readonly image?: string | undefined;
  readonly network?: NetworkLevel | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly limits?: Limits | undefined;
  readonly mounts?: readonly Mount[] | undefined;
  /** A named volume at the working directory that outlives the sandbox. */
  readonly contextId?: string | undefined;
  /** What its provider must be able to do. One that cannot is not asked. */
  readonly needs?: readonly Need[] | undefined;
  readonly policy?: Partial<LifecyclePolicy> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How an exclusive right is held. */
export interface LeaseTerms {
  /** Who holds it, for those who are refused. Default: the host and the pid. */
  readonly holder?: string | undefined;
  /** It ends by itself this long after its last renewal; it is renewed at a third of it. Default 30 s. */
  readonly ttlMs?: number | undefined;
}
