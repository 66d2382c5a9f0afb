/** The engine as the commands get it: opened on first use, closed once. */
import type { Sublet } from '../core/api.ts';
import type { ExpectedOptions } from '../open.ts';
import type { Log } from '../telemetry/log.ts';
import { createLog } from './create-log.ts';
import { updateProgress } from './progress.ts';
import type { Terminal } from './terminal.ts';

export interface Engine {
  readonly isOpen: boolean;
  readonly sublet: (expects?: ExpectedOptions) => Promise<Sublet>;
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function createEngine(env: Environment, terminal: Terminal): Engine {
  let opened: Promise<Sublet> | undefined;
  let said: Promise<void> = Promise.resolve();
  const warn = (fields: object, message: string): void => {
    // One after the other, and only then is what words them loaded: nearly every command ends without a warning.
    said = said.then(async () => {
      const { toWarning } = await import('./render/to-warning.ts');
      await terminal.write('stderr', `sublet: warning: ${toWarning(fields, message)}\n`);
    });
  };
  return {
    get isOpen() {
      return opened !== undefined;
    },
    sublet: (expects) => (opened ??= openEngine(env, warn, expects)),
    async close() {
      // An engine that failed to open has nothing to close, and its opener has the error.
      const sublet = await opened?.catch(() => undefined);
      await sublet?.close();
      await said;
    },
  };
}

async function openEngine(env: Environment, warn: Log['warn'], expects?: ExpectedOptions): Promise<Sublet> {
  const [{ open }, log] = await Promise.all([import('../open.ts'), createLog(env, warn)]);
  // The command line answers signals itself: it closes the engine on the way out.
  return open({ env, log, handleSignals: false, onProgress: updateProgress, expects });
}
