/** Who has a sandbox, and what happened to it. */
import { explainIdle } from '../core/adaptive-idle.ts';
import type { SandboxDetails, SandboxOwner } from '../core/api.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';

const EVENTS = 10;

export async function readDetails(
  engine: Engine,
  record: SandboxRecord,
): Promise<Pick<SandboxDetails, 'owner' | 'lease' | 'idleTimeout' | 'events'>> {
  const [owner, newest] = await Promise.all([
    readOwner(engine, record),
    engine.ports.store.listEvents({ sandboxId: record.id, descending: true, limit: EVENTS }),
  ]);
  const { lease } = record;
  return {
    owner,
    lease: lease && { holder: lease.holder, token: lease.token, expiresAt: lease.expiresAt },
    idleTimeout: explainIdle(record.policy, engine.lives.get(record.id)?.gaps ?? record.gaps),
    events: newest.toReversed(),
  };
}

async function readOwner(engine: Engine, { ownerId }: SandboxRecord): Promise<SandboxOwner | undefined> {
  const [owner, life] = await Promise.all([engine.ports.store.getOwner(ownerId), engine.owners.judge(ownerId)]);
  if (owner === undefined || life === 'none') return undefined;
  const { id, hostName, hostId, pid, heartbeatAt } = owner;
  return { id, host: hostName || hostId, pid, life, heartbeatAt };
}
