/** From a row to a sandbox that can be used by whoever names it by its id. */
import { SubletError } from '../core/errors.ts';
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';
import { assertMayUse } from './lease-check.ts';
import type { LiveSandbox } from './live-sandbox.ts';
import { markLost } from './mark-lost.ts';
import { readySandbox } from './ready-sandbox.ts';
import { envFor } from './session-wants.ts';

const USABLE = ['running', 'paused', 'stopped'];

/** Wakes it if need be. `token`: the caller's lease on it, if it has one. */
export async function openSandbox(
  engine: Engine,
  record: SandboxRecord,
  cause: string,
  token?: number,
): Promise<LiveSandbox> {
  if (!USABLE.includes(record.state)) throw notUsable(record);
  if (token === undefined) await assertMayUse(engine, record);
  if (token === undefined && record.pool !== undefined) throw pooledError(record);
  const readiness = await readySandbox(engine, record, { env: () => envFor(engine, {}, record), cause });
  switch (readiness.status) {
    case 'ready':
      return readiness.live;
    case 'lost':
      await markLost(engine, record);
      throw new SubletError('SANDBOX_LOST', `Sandbox ${record.id} is gone, and Sublet did not destroy it.`, {
        details: { sandboxId: record.id },
      });
    case 'unsafe':
      await readiness.live.close();
      throw new SubletError(
        'NETWORK_NOT_ENFORCEABLE',
        `Sandbox ${record.id} has a weaker network than "${record.network}".`,
        {
          details: { sandboxId: record.id, level: record.network },
          hint: 'Ask for its session, which replaces it, or destroy it.',
        },
      );
    case 'changed':
      throw notUsable((await engine.ports.store.getSandbox(record.id)) ?? record);
  }
}

// Whoever looked in without a lease would leave traces for the next holder.
function pooledError({ id, pool }: SandboxRecord): SubletError {
  return new SubletError('STATE_CONFLICT', `Sandbox ${id} waits in pool "${pool}" and is nobody's to use.`, {
    details: { sandboxId: id, pool },
    hint: `Take one with sublet.lease('${pool}'), or this one with sublet.lease({ sandboxId: '${id}' }).`,
  });
}

function notUsable(record: SandboxRecord): SubletError {
  return new SubletError('STATE_CONFLICT', `Sandbox ${record.id} is ${record.state}.`, {
    details: { sandboxId: record.id, state: record.state },
    hint: 'Only a running, paused or stopped sandbox can be used.',
  });
}
