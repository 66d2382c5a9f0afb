/** What a sandbox is asked to be. Shared by profiles, calls and providers. */
import type { Need } from './needs.ts';
import type { NetworkLevel } from './network.ts';
import type { LifecyclePolicy } from './policy.ts';
import type { PoolOverrides } from './pool-settings.ts';

export interface Limits {
  readonly memoryBytes?: number | undefined;
  /** Thousandths of a core: 1500 is one and a half. */
  readonly cpuMillis?: number | undefined;
  readonly pids?: number | undefined;
  readonly diskBytes?: number | undefined;
}

export interface Mount {
  /** Absolute path on the machine that runs the sandbox. */
  readonly source: string;
  /** Absolute path inside. */
  readonly target: string;
  /** Default true. */
  readonly readOnly?: boolean | undefined;
}

export type Labels = Readonly<Record<string, string>>;

/** The labels every sandbox of ours carries at its provider. */
export const LABEL: {
  readonly installation: 'sublet.installation';
  readonly sandbox: 'sublet.sandbox';
  readonly owner: 'sublet.owner';
  readonly keyHash: 'sublet.key-hash';
} = {
  installation: 'sublet.installation',
  sandbox: 'sublet.sandbox',
  owner: 'sublet.owner',
  keyHash: 'sublet.key-hash',
};

export interface SandboxMetrics {
  /** Processor time used since start. */
  readonly cpuMs?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly memoryLimitBytes?: number | undefined;
  readonly diskBytes?: number | undefined;
  readonly diskLimitBytes?: number | undefined;
  readonly processes?: number | undefined;
  readonly processLimit?: number | undefined;
}

/** A profile, the environment and the call, merged and validated: what is to be made. */
export interface ResolvedSandbox {
  readonly profile: string;
  readonly provider: string;
  readonly image: string | undefined;
  readonly network: NetworkLevel;
  /** Values are secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly mounts: readonly Mount[];
  readonly contextId: string | undefined;
  readonly policy: LifecyclePolicy;
  readonly needs?: readonly Need[] | undefined;
  /** What to make instead when this cannot be made, in order. None of them has alternatives of its own. */
  readonly otherwise?: readonly ResolvedSandbox[] | undefined;
  /** Its profile's pools, by their names. */
  readonly pools?: Readonly<Record<string, PoolOverrides>> | undefined;
}
