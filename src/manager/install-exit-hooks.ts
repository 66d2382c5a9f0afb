/** Puts everything away when the process is asked to end, or ends by itself. */
import type { Manager } from './create-manager.ts';

/** What the hooks need of `process`. */
export type ExitProcess = Pick<NodeJS.Process, 'on' | 'off' | 'kill' | 'pid' | 'exitCode' | 'exit'>;

export interface ExitHookOptions {
  readonly process?: ExitProcess | undefined;
  /** Where to say what is left behind. Default: standard error. */
  readonly say?: ((line: string) => void) | undefined;
}

const EXIT_STATUS = { SIGINT: 130, SIGTERM: 143 } as const;
type ExitSignal = keyof typeof EXIT_STATUS;

/**
 * The first SIGINT or SIGTERM closes the manager and then ends the process by that same signal, so that whoever waits for it sees why.
 * A second one gives up at once and says what is left behind. The returned function removes the hooks.
 */
export function installExitHooks(manager: Pick<Manager, 'close' | 'held'>, options: ExitHookOptions = {}): () => void {
  const target: ExitProcess = options.process ?? process;
  const say = options.say ?? ((line: string): void => void process.stderr.write(`${line}\n`));
  let isClosing = false;

  const onSignal = (signal: ExitSignal): void => {
    if (isClosing) {
      say(leftBehind(manager.held()));
      target.exit(EXIT_STATUS[signal]);
      return;
    }
    isClosing = true;
    void manager.close().finally(() => {
      remove();
      target.exitCode = EXIT_STATUS[signal];
      target.kill(target.pid, signal);
    });
  };
  const onBeforeExit = (): void => {
    remove();
    void manager.close();
  };
  const remove = (): void => {
    target.off('SIGINT', onSignal);
    target.off('SIGTERM', onSignal);
    target.off('beforeExit', onBeforeExit);
  };
  target.on('SIGINT', onSignal);
  target.on('SIGTERM', onSignal);
  target.on('beforeExit', onBeforeExit);
  return remove;
}

function leftBehind(ids: readonly string[]): string {
  if (ids.length === 0) return 'sublet: gave up before everything was put away.';
  return `sublet: gave up. Left as they are: ${ids.join(', ')}. See them with "sublet ls", remove them with "sublet rm".`;
}
