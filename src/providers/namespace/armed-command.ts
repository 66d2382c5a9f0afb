/** One command in an armed shell, followed to its end: also when the agent kills or stops the shell that would have told. */
import type { Clock } from '../../core/clock.ts';
import type { CommandResult, RunOptions } from '../../core/commands.ts';
import { findTagged, killTagged, type ProcessTag, type TaggedQuery } from '../../provider/posix/process-tree.ts';
import { type ProcessExit, runProcess } from '../../provider/posix/run-process.ts';
import { type ArmedShell, UNKNOWN_EXIT } from './armed-shell.ts';

export interface ArmedCommand {
  readonly script: string;
  readonly tag: ProcessTag;
  /** The sandbox's first process. */
  readonly init: number | undefined;
}

/** When a command whose streams are over and whose end nobody has told is looked for, first and at most. */
const FIRST_LOOK_MS = 2_000;
const MAX_LOOK_MS = 60_000;

export async function runArmed(
  shell: ArmedShell,
  command: ArmedCommand,
  options: RunOptions,
  clock: Clock,
): Promise<CommandResult> {
  const tree = { tag: command.tag, inPidNamespaceOf: command.init };
  const { stdout, stderr } = shell;
  let hadEnded = false;
  const killTree = async (): Promise<void> => {
    const isOver = stdout.isOver && stderr.isOver;
    hadEnded = (await killTagged(tree)) === 0 && isOver;
  };
  try {
    const stdin = shell.start(command.script, options.stdin !== undefined);
    const streams = { stdin, stdout, stderr, exit: exitOf(shell, tree, clock) };
    const result = await runProcess(streams, options, { clock, killTree });
    // Its time ran out while somebody was waited for who would have told how it ended.
    return hadEnded ? { ...result, timedOut: false } : result;
  } finally {
    shell.leave();
  }
}

/** How it ended, or unknown once nothing of it is left. A process that sheds its tag still holds its streams. */
function exitOf(shell: ArmedShell, tree: TaggedQuery, clock: Clock): Promise<ProcessExit> {
  let isKnown = false;
  let cancel = (): void => undefined;
  const vanished = new Promise<ProcessExit>((resolve) => {
    const look = (ms: number): void => {
      if (isKnown) return;
      const again = (): void => look(Math.min(ms * 2, MAX_LOOK_MS));
      cancel = clock.schedule(ms, () => {
        findTagged(tree).then((left) => (left.length === 0 ? resolve(UNKNOWN_EXIT) : again()), again);
      });
    };
    void Promise.all([shell.stdout.over, shell.stderr.over]).then(() => look(FIRST_LOOK_MS));
  });
  void shell.exit.then(() => {
    isKnown = true;
    cancel();
  });
  return Promise.race([shell.exit, vanished]);
}
