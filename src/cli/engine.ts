/** The engine as the commands get it: opened on first use, closed once. */
import type { Sublet } from '../core/api.ts';
import type { Terminal } from './terminal.ts';

export interface Engine {
  readonly isOpen: boolean;
  readonly sublet: () => Promise<Sublet>;
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function createEngine(env: Environment, terminal: Terminal): Engine {
  let opened: Promise<Sublet> | undefined;
  return {
    get isOpen() {
      return opened !== undefined;
    },
    sublet: () => (opened ??= openEngine(env, terminal)),
    async close() {
      // An engine that failed to open has nothing to close, and its opener has the error.
      const sublet = await opened?.catch(() => undefined);
      await sublet?.close();
    },
  };
}

async function openEngine(env: Environment, _terminal: Terminal): Promise<Sublet> {
  const { open } = await import('../open.ts');
  // The command line answers signals itself: it closes the engine on the way out.
  return open({ env, handleSignals: false });
}
