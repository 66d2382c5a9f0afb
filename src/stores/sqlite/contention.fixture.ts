/** What the processes that contend for one store share with the test that watches them. */
import type { SandboxId } from '../../core/ids.ts';
import { DEFAULT_POLICY } from '../../core/policy.ts';
import type { SessionKey } from '../../core/session-key.ts';
import type { NewSandbox, NewSession } from '../../store/store.ts';

/** What a contender did, by what it was told. */
export interface Contention {
  readonly installation: string;
  /** Keys it bound, with its sandbox. */
  readonly claimed: Readonly<Record<SessionKey, SandboxId>>;
  /** What the store said each key is bound to. */
  readonly seen: Readonly<Record<SessionKey, SandboxId>>;
  readonly moved: readonly SandboxId[];
}

export const T0 = 1_700_000_000_000;
export const ROUNDS = 40;
export const TICKET = 'sbx_ticket';
export const BUSY = 'sbx_busy';

export function sandbox(id: SandboxId): NewSandbox {
  return {
    id,
    name: id,
    provider: 'namespace',
    profile: 'default',
    kind: 'execution',
    ephemeral: false,
    ownerId: `own_${process.pid}`,
    hostId: 'host',
    hostName: 'host',
    sessionKey: undefined,
    network: 'none',
    policy: DEFAULT_POLICY,
    spec: {},
    createdAt: T0,
    dueAt: undefined,
    deadManAt: undefined,
    cause: 'contention',
  };
}

export function session(key: SessionKey): NewSession {
  return { key, kind: 'execution', profile: 'default', network: 'none', privateReason: undefined, createdAt: T0 };
}
