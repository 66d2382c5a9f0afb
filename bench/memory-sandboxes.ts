/** The engine over sandboxes in memory and a real SQLite file: thousands of sessions on one machine. */
import { open, type Clock, type Sublet } from 'sublet';
import { defineProvider } from 'sublet/provider';
import { createFaultyProvider, FAULTY_CAPABILITIES, FaultyWorld } from 'sublet/testing';
import { withScratchHome } from './scratch-home.ts';

export const PROVIDER = 'memory-sandboxes';

/** Time stands still, so that a health check of the first sandbox is still fresh when the last one is made. */
export const standingClock: Clock = standingAt(Date.now());

export interface MemorySandboxes {
  readonly sublet: Sublet;
  readonly home: string;
}

export async function withMemorySandboxes<T>(use: (engine: MemorySandboxes) => Promise<T>): Promise<T> {
  const provider = createFaultyProvider(new FaultyWorld(standingClock), { id: PROVIDER });
  const module = defineProvider({
    id: PROVIDER,
    title: 'Sandboxes in memory',
    summary: 'Nothing runs: what is left is the manager and the store.',
    capabilities: FAULTY_CAPABILITIES,
    options: {},
    probe: async () => ({ usable: true, findings: [] }),
    open: async () => provider,
  });
  return withScratchHome(async (home) => {
    const sublet = await open({ home, env: {}, providers: [module], clock: standingClock });
    try {
      return await use({ sublet, home });
    } finally {
      await sublet.close();
    }
  });
}

function standingAt(now: number): Clock {
  return {
    now: () => now,
    elapsed: () => performance.now(),
    schedule(ms, callback, { ref = true } = {}) {
      const timer = setTimeout(callback, ms);
      if (!ref) timer.unref();
      return () => clearTimeout(timer);
    },
  };
}
