/** What a sandbox will be, worked out before anything is asked of a provider: the intent row and the spec it announces. */
import { createHash } from 'node:crypto';
import type { GapSummary } from '../core/adaptive-idle.ts';
import { deadManMs } from '../core/dead-man.ts';
import type { OwnerId, SandboxId } from '../core/ids.ts';
import { providerName } from '../core/ids.ts';
import type { SandboxKind, SessionKey } from '../core/session-key.ts';
import type { Labels, ResolvedSandbox } from '../core/spec.ts';
import { LABEL } from '../core/spec.ts';
import type { SandboxSpec } from '../provider/provider.ts';
import type { StoredSpec } from '../store/records.ts';
import type { NewSandbox } from '../store/store.ts';

export interface PlanInput {
  readonly id: SandboxId;
  readonly wanted: ResolvedSandbox;
  readonly kind: SandboxKind;
  readonly sessionKey: SessionKey | undefined;
  readonly installation: string;
  readonly ownerId: OwnerId;
  readonly host: { readonly hostId: string; readonly hostName: string };
  readonly now: number;
  readonly cause: string;
  readonly gaps?: GapSummary | undefined;
  readonly expectsOneCommand?: boolean | undefined;
  readonly pool?: PoolMembership | undefined;
  /** For a session that has another one until this is filled: it goes if its maker does. */
  readonly isProvisional?: boolean | undefined;
}

export type PoolMembership = Required<Pick<NewSandbox, 'pool' | 'lane' | 'terms'>>;

export interface SandboxPlan {
  readonly row: NewSandbox;
  readonly spec: SandboxSpec;
}

/** After a create's own time-out its maker has this long to undo it before another may take over. */
export const TAKEOVER_GRACE_MS = 10_000;

export function planSandbox(input: PlanInput): SandboxPlan {
  const { wanted, sessionKey } = input;
  const ephemeral = isEphemeral(input);
  const name = providerName(input.id);
  const row: NewSandbox = {
    id: input.id,
    name,
    provider: wanted.provider,
    profile: wanted.profile,
    kind: input.kind,
    ephemeral: ephemeral || input.isProvisional === true,
    ownerId: input.ownerId,
    hostId: input.host.hostId,
    hostName: input.host.hostName,
    sessionKey,
    network: wanted.network,
    policy: wanted.policy,
    spec: toStoredSpec(wanted),
    createdAt: input.now,
    dueAt: input.now + wanted.policy.timeoutSeconds * 1000 + TAKEOVER_GRACE_MS,
    deadManAt: undefined,
    cause: input.cause,
    gaps: input.gaps,
    ...input.pool,
  };
  const spec: SandboxSpec = {
    ...row.spec,
    name,
    labels: labelsFor(input),
    kind: input.kind,
    network: wanted.network,
    env: wanted.env,
    ephemeral,
    expectsOneCommand: input.expectsOneCommand,
    deadManMs: deadManMs(wanted.policy),
  };
  return { row, spec };
}

/** Neither a conversation's nor a pool's: it ends with whatever it was made for. */
export function isEphemeral({ sessionKey, pool }: Pick<PlanInput, 'sessionKey' | 'pool'>): boolean {
  return sessionKey === undefined && pool === undefined;
}

function labelsFor(input: PlanInput): Labels {
  return {
    [LABEL.installation]: input.installation,
    [LABEL.sandbox]: input.id,
    [LABEL.owner]: input.ownerId,
    ...(input.sessionKey === undefined ? {} : { [LABEL.keyHash]: hashKey(input.sessionKey) }),
  };
}

// The key names a user and a conversation: a provider's console shows only its hash.
function hashKey(key: SessionKey): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

function toStoredSpec(wanted: ResolvedSandbox): StoredSpec {
  return {
    ...(wanted.image === undefined ? {} : { image: wanted.image }),
    ...(Object.keys(wanted.limits).length === 0 ? {} : { limits: wanted.limits }),
    ...(wanted.mounts.length === 0 ? {} : { mounts: wanted.mounts }),
    ...(wanted.contextId === undefined ? {} : { contextId: wanted.contextId }),
  };
}
