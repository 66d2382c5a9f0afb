/** What the watchdog's shell becomes when its owner has died: sees to what that one left, and ends. `watchdog.js OWNER`. */
import { setTimeout as delay } from 'node:timers/promises';
import { openManager } from './open.ts';

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 30_000;
/** A provider that is down for longer is left to the next sweep. */
const GIVE_UP_AFTER_MS = 3 * 60_000;

await recover(process.argv[2] ?? '');

// The pipe may close a moment before the kernel calls the owner dead, and providers may fail for a while.
async function recover(ownerId: string): Promise<void> {
  const manager = await openManager({ watchdog: false, handleSignals: false });
  try {
    const startedAt = performance.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const isDone = await manager.recoverOwner(ownerId).catch(() => false);
      if (isDone || performance.now() - startedAt > GIVE_UP_AFTER_MS) return;
      await delay(pauseMs);
    }
  } finally {
    await manager.close();
  }
}
