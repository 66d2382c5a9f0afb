/** A row as surfaces show it, with the activity this process knows of and has not written yet. */
import type { SandboxInfo } from '../core/api.ts';
import { dueAt } from '../core/expiry.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { LiveSandbox } from './live-sandbox.ts';

export function toSandboxInfo(record: SandboxRecord, live: LiveSandbox | undefined): SandboxInfo {
  const isNewer = live !== undefined && record.state === 'running' && live.lastActiveAt > record.lastActiveAt;
  const lastActiveAt = isNewer ? live.lastActiveAt : record.lastActiveAt;
  return {
    id: record.id,
    name: record.name,
    provider: record.provider,
    profile: record.profile,
    kind: record.kind,
    state: record.state,
    ephemeral: record.ephemeral,
    sessionKey: record.sessionKey,
    pool: record.pool,
    image: record.spec.image,
    network: record.network,
    policy: record.policy,
    createdAt: record.createdAt,
    stateAt: record.stateAt,
    lastActiveAt,
    dueAt: isNewer ? dueAt({ ...record, lastActiveAt, gaps: live.gaps }) : record.dueAt,
    deadManAt: record.deadManAt,
    cause: record.cause,
    host: record.hostName || record.hostId,
  };
}
