/** Whether anybody works in a sandbox: here, in another process, or a command that was left to run. */
import type { SandboxRecord } from '../store/records.ts';
import type { Engine } from './engine.ts';
import { askBox } from './sweep.ts';

/** Activity of other processes is written down this many intervals late at most. */
const LATE_INTERVALS = 2;

export async function isInUse(engine: Engine, record: SandboxRecord): Promise<boolean> {
  const live = engine.lives.get(record.id);
  if (live?.isBusy === true) return true;
  if ((await engine.leaseWatch.standing(record, engine.now())) !== undefined) return true;
  if (record.lastActiveAt > (live?.lastActiveAt ?? 0) && (await isOthers(engine, record))) return true;
  return record.state === 'running' && (await askBox(engine, record)) === 'busy';
}

/** Somebody else who lives was the last to use it, not long ago, and may be at it still. */
async function isOthers(engine: Engine, { ownerId, lastActiveAt }: SandboxRecord): Promise<boolean> {
  if (engine.now() - lastActiveAt >= engine.config.touchIntervalMs * LATE_INTERVALS) return false;
  const owner = await engine.owners.judge(ownerId);
  return owner !== 'self' && owner !== 'dead' && owner !== 'none';
}
