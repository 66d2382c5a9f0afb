/** Who may use a sandbox: whoever holds its lease, or anyone when nobody does. */
import { SubletError } from '../core/errors.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';

/**
 * `token` is the caller's lease, undefined for one who has none. LEASE_LOST when it is no longer the sandbox's, LEASE_HELD when
 * somebody else has one.
 */
export async function assertMayUse(engine: Engine, record: SandboxRecord, token?: number): Promise<void> {
  if (token !== undefined) {
    if (record.lease?.token !== token) throw lostError(record, token);
  } else if (record.lease !== undefined && (await engine.leaseWatch.standing(record, engine.now())) !== undefined) {
    throw heldError(record);
  }
}

export function heldError({ id, lease, sessionKey }: SandboxRecord): SubletError {
  const holder = lease?.holder ?? 'somebody else';
  return new SubletError('LEASE_HELD', `Sandbox ${id} is in exclusive use by ${holder}.`, {
    details: { sandboxId: id, sessionKey, holder, expiresAt: lease?.expiresAt },
    hint: 'Wait until it is released, or use another sandbox.',
  });
}

export function lostError({ id }: Pick<SandboxRecord, 'id'>, token: number): SubletError {
  return new SubletError(
    'LEASE_LOST',
    `The lease ${token} on sandbox ${id} has ended: somebody else may have it now.`,
    {
      details: { sandboxId: id, token },
      hint: 'Stop what depends on it and ask for a lease again.',
    },
  );
}
