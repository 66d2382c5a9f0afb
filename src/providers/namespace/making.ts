/** Waiting for whoever makes a sandbox of the same name. */
import { type Clock, sleep } from '../../core/clock.ts';
import { sandboxPaths } from './layout.ts';
import { isSameProcess } from './process-identity.ts';
import { readRecord, type SandboxRecord } from './sandbox-record.ts';

/** Directories of sandboxes that this process is making, by whichever of its providers. */
export const MAKING: Set<string> = new Set();

/** A reserved name gets its record within moments; without one after this many looks its maker has died. */
const RESERVED_ROUNDS = 100;

/** The record once nobody is at work on it; undefined when there is none. */
export async function madeByOther(
  stateDir: string,
  name: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<SandboxRecord | undefined> {
  for (let attempt = 0; ; attempt++) {
    const record = await readRecord(stateDir, name);
    if (!(await isBeingMade(record, sandboxPaths(stateDir, name).dir, attempt))) return record;
    await sleep(clock, 5, signal);
  }
}

async function isBeingMade(record: SandboxRecord | undefined, dir: string, attempt: number): Promise<boolean> {
  if (MAKING.has(dir)) return true;
  if (record === undefined) return attempt < RESERVED_ROUNDS;
  if (record.maker === undefined || (record.ephemeral && record.init !== undefined)) return false;
  return record.maker.pid !== process.pid && isSameProcess(record.maker);
}
